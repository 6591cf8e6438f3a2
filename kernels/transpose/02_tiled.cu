// Through a tile in shared memory: loads and stores are both coalesced.
//
// Idea:    a block reads a 32 x 32 tile by rows and writes it by columns of the tile, which are
//          rows of the result.
// Changes: stores touch 4 sectors a request instead of 32. The tile's columns all lie in one bank.
// Counter: shared load bank conflicts: 32-way.
//
// in: rows x columns, row-major. Launch: block (32, 8), grid of the 32 x 32 tiles in one dimension.
#include "tile_copy.cuh"

extern "C" __global__ void transpose(const ELEMENT* in, ELEMENT* out, long long rows,
                                     long long columns) {
  __shared__ ELEMENT tile[32][32];
  transpose_tile(in, out, rows, columns,
                 [&](int row, int column) -> ELEMENT& { return tile[row][column]; });
}

// The tile's rows one element longer.
//
// Idea:    with 33 words a row, the elements of a column lie in 32 different banks.
// Changes: the bank conflicts of 02 are gone, for 4 KiB and 128 bytes of shared memory.
// Counter: shared load bank conflicts: 0 (elements of 4 bytes).
//
// in: rows x columns, row-major. Launch: block (32, 8), grid of the 32 x 32 tiles in one dimension.
#include "tile_copy.cuh"

extern "C" __global__ void transpose(const ELEMENT* in, ELEMENT* out, long long rows,
                                     long long columns) {
  __shared__ ELEMENT tile[32][33];
  transpose_tile(in, out, rows, columns,
                 [&](int row, int column) -> ELEMENT& { return tile[row][column]; });
}

// Elements of a row in an order of their own.
//
// Idea:    element (row, column) lies at column XOR row: a row fills all banks, and so does a
//          column, without a byte of padding.
// Changes: as 03, in exactly 4 KiB.
// Counter: shared load and store bank conflicts: 0 (elements of 4 bytes).
//
// in: rows x columns, row-major. Launch: block (32, 8), grid of the 32 x 32 tiles in one dimension.
#include "tile_copy.cuh"

extern "C" __global__ void transpose(const ELEMENT* in, ELEMENT* out, long long rows,
                                     long long columns) {
  __shared__ ELEMENT tile[32][32];
  transpose_tile(in, out, rows, columns,
                 [&](int row, int column) -> ELEMENT& { return tile[row][column ^ row]; });
}

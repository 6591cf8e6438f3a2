// One thread per cell, five loads from global memory.
//
// Idea:    out = center * in + side * (the four neighbours); cells outside the grid are zero. With
//          center -4 and side 1 it is the Laplacian, with 1 - 4 r and r a step of diffusion.
// Changes: nothing to compare with yet.
// Counter: five load requests per output, most of them served by L1.
//
// in, out: rows x columns. Launch: block (32, 8), grid over columns (x) and rows (y).
#include "common/rows.cuh"

extern "C" __global__ void laplacian(const ELEMENT* in, ELEMENT* out, int rows, int columns,
                                     ELEMENT center, ELEMENT side) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = block_row() * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  const ELEMENT* const at = in + static_cast<long long>(row) * columns + column;
  const ELEMENT north = row > 0 ? at[-columns] : 0;
  const ELEMENT south = row + 1 < rows ? at[columns] : 0;
  const ELEMENT west = column > 0 ? at[-1] : 0;
  const ELEMENT east = column + 1 < columns ? at[1] : 0;
  out[static_cast<long long>(row) * columns + column] =
      center * at[0] + side * (north + south + west + east);
}

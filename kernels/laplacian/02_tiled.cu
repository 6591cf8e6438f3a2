// A tile and its halo in shared memory.
//
// Idea:    the block loads (32 + 2) x (8 + 2) cells once, zeros outside the grid, and every thread
//          takes its five from there.
// Changes: a load from global memory per cell and a few for the halo, instead of five.
// Counter: global load requests fall; shared load wavefronts take their place.
//
// in, out: rows x columns. Launch: block (32, 8), grid over columns (x) and rows (y).
#include "common/rows.cuh"

extern "C" __global__ void laplacian(const ELEMENT* in, ELEMENT* out, int rows, int columns,
                                     ELEMENT center, ELEMENT side) {
  constexpr int width = 32 + 2, height = 8 + 2;
  __shared__ ELEMENT cells[height][width];
  const int first_column = blockIdx.x * 32 - 1, first_row = block_row() * 8 - 1;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < width * height; i += 256) {
    const int r = first_row + i / width, c = first_column + i % width;
    const bool inside = r >= 0 && r < rows && c >= 0 && c < columns;
    cells[i / width][i % width] = inside ? in[static_cast<long long>(r) * columns + c] : 0;
  }
  __syncthreads();
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  const int row = first_row + y, column = first_column + x;
  if (row >= rows || column >= columns) return;
  out[static_cast<long long>(row) * columns + column] =
      center * cells[y][x] +
      side * (cells[y - 1][x] + cells[y + 1][x] + cells[y][x - 1] + cells[y][x + 1]);
}

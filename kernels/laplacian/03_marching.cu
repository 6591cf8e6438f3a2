// Marching down the grid: a row is loaded once and stays in registers for three outputs.
//
// Idea:    a warp owns 128 columns, four a lane, and walks down ROWS rows. It keeps three rows; the
//          neighbours to the left and right come from the lanes beside, and at the warp's edges
//          from memory.
// Changes: one 128-bit load and one store per four cells, neither shared memory nor barriers.
// Counter: a load request per output row; DRAM bytes near the least possible.
//
// in, out: rows x columns. ALIGNED is 1 if columns is a multiple of 4. Launch: blocks of THREADS,
// grid over the 128-column strips, THREADS / 32 a block (x), and the strips of ROWS rows (y).
#include "strip.cuh"

constexpr int rows_under_way = UNROLL;

__device__ inline ELEMENT load_cell(const ELEMENT* in, int row, int column, int rows, int columns) {
  const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
  return inside ? in[static_cast<long long>(row) * columns + column] : 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    laplacian(const ELEMENT* __restrict__ in, ELEMENT* __restrict__ out, int rows, int columns,
              ELEMENT center, ELEMENT side) {
  const int lane = threadIdx.x % 32;
  const int warp = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  const int column = warp * 128 + lane * N;
  if (warp * 128 >= columns) return;  // the whole warp
  const int first_row = blockIdx.y * ROWS, end_row = min(first_row + ROWS, rows);
  // What the lanes at the warp's edges cannot get from a neighbour.
  const int beside = lane == 0 ? column - 1 : column + N;
  const bool at_edge = lane == 0 || lane == 31;

  Cells north = load_cells(in, first_row - 1, column, rows, columns);
  Cells middle = load_cells(in, first_row, column, rows, columns);
#pragma unroll rows_under_way
  for (int row = first_row; row < end_row; ++row) {
    const Cells south = load_cells(in, row + 1, column, rows, columns);
    const ELEMENT outer = at_edge ? load_cell(in, row, beside, rows, columns) : 0;
    const ELEMENT from_left = __shfl_up_sync(0xffffffffu, middle.at[N - 1], 1);
    const ELEMENT from_right = __shfl_down_sync(0xffffffffu, middle.at[0], 1);
    store_cells(out, row, column, columns,
                step(north, middle, south, lane == 0 ? outer : from_left,
                     lane == 31 ? outer : from_right, center, side));
    north = middle;
    middle = south;
  }
}

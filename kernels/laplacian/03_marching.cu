// Marching down the grid: a row is loaded once and stays in registers for three outputs.
//
// Idea:    a warp owns 128 columns, four a lane, and walks down ROWS rows. It keeps three rows, and
//          one that is under way; the neighbours to the left and right come from the lanes beside,
//          and at the warp's edges from memory, with the row. Few rows a warp: then all warps
//          together sweep the memory from end to end, which DRAM serves better than many marches.
// Changes: one 128-bit load and one store per four cells, neither shared memory nor barriers.
// Counter: a load request per output row; DRAM bytes near the least possible.
//
// in, out: rows x columns. ALIGNED is 1 if columns is a multiple of 4. Launch: blocks of THREADS,
// grid over the 128-column strips, THREADS / 32 a block (x), and the strips of ROWS rows (y).
#include "common/rows.cuh"
#include "strip.cuh"

// A lane's cells of a row; `outer`, for the lanes at the edges of the warp, is the cell beside them.
struct Row {
  Cells cells;
  ELEMENT outer;
};

extern "C" __global__ void __launch_bounds__(THREADS)
    laplacian(const ELEMENT* __restrict__ in, ELEMENT* __restrict__ out, int rows, int columns,
              ELEMENT center, ELEMENT side) {
  const int lane = threadIdx.x % 32;
  const int warp = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  const int column = warp * 128 + lane * N;
  if (warp * 128 >= columns) return;  // the whole warp
  const int first_row = block_row() * ROWS;
  const int beside = lane == 0 ? column - 1 : column + N;
  const bool has_outer = (lane == 0 || lane == 31) && beside >= 0 && beside < columns;
  const auto load = [&](int row) {
    Row loaded{load_cells(in, row, column, rows, columns), 0};
    if (has_outer && row >= 0 && row < rows) {
      loaded.outer = in[static_cast<long long>(row) * columns + beside];
    }
    return loaded;
  };

  Row north = load(first_row - 1), middle = load(first_row), south = load(first_row + 1);
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int row = first_row + i;
    if (row >= rows) return;
    const Row next = load(row + 2);
    const ELEMENT left = __shfl_up_sync(0xffffffffu, middle.cells.at[N - 1], 1);
    const ELEMENT right = __shfl_down_sync(0xffffffffu, middle.cells.at[0], 1);
    store_cells(out, row, column, columns,
                step(north.cells, middle.cells, south.cells, lane == 0 ? middle.outer : left,
                     lane == 31 ? middle.outer : right, center, side));
    north = middle;
    middle = south;
    south = next;
  }
}

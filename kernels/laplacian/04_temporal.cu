// STEPS steps for every load: temporal blocking.
//
// Idea:    as 03, but each row that is loaded is carried through STEPS steps before anything is
//          stored: when row y arrives, step 1 can do row y - 1, step 2 row y - 2, ... All rows in
//          flight stay in registers. The outermost HALO columns on either side of a warp's 128 lack
//          neighbours and are not stored; warps overlap there.
// Changes: memory traffic falls by nearly STEPS, for some redundant arithmetic at the seams.
// Counter: DRAM bytes per step; FP32 instructions rise by 128 / (128 - 2 HALO).
//
// in, out: rows x columns. ALIGNED is 1 if columns is a multiple of 4. Launch: blocks of THREADS,
// grid over strips of 128 - 2 HALO columns, THREADS / 32 a block (x), and strips of ROWS rows (y).
#include "common/rows.cuh"
#include "strip.cuh"

constexpr int HALO = (STEPS + N - 1) / N * N;
constexpr int outputs = 32 * N - 2 * HALO;  // columns a warp stores
static_assert(outputs > 0, "something remains to be stored");

// Rows first_row to end_row after STEPS steps. EDGE: part of what is computed lies outside the grid
// and must stay zero in every step.
template <bool EDGE>
__device__ inline void march(const ELEMENT* in, ELEMENT* out, int first_row, int end_row,
                             int column, int rows, int columns, ELEMENT center, ELEMENT side) {
  const int lane = threadIdx.x % 32;
  const bool stores = lane >= HALO / N && lane < 32 - HALO / N;
  // The two newest rows of each step's input; step s + 1 reads what step s makes.
  Cells above[STEPS] = {}, middle[STEPS] = {};
  Cells next = load_cells(in, first_row - STEPS, column, rows, columns);
#pragma unroll 2  // two rows later the registers have their roles again: nothing is moved
  for (int loaded = first_row - STEPS; loaded < end_row + STEPS; ++loaded) {
    Cells arriving = next;
    next = load_cells(in, loaded + 1, column, rows, columns);
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      const ELEMENT west = __shfl_up_sync(0xffffffffu, middle[s].at[N - 1], 1);
      const ELEMENT east = __shfl_down_sync(0xffffffffu, middle[s].at[0], 1);
      Cells made = step(above[s], middle[s], arriving, west, east, center, side);
      if (EDGE) {
        const int row = loaded - 1 - s;  // of `made`
        const bool row_inside = row >= 0 && row < rows;
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const bool inside = row_inside && column + i >= 0 && column + i < columns;
          made.at[i] = inside ? made.at[i] : 0;
        }
      }
      above[s] = middle[s];
      middle[s] = arriving;
      arriving = made;
    }
    const int row = loaded - STEPS;
    if (row >= first_row && stores) store_cells(out, row, column, columns, arriving);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    laplacian(const ELEMENT* __restrict__ in, ELEMENT* __restrict__ out, int rows, int columns,
              ELEMENT center, ELEMENT side) {
  const int lane = threadIdx.x % 32;
  const int warp = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  if (warp * outputs >= columns) return;  // the whole warp
  const int first_column = warp * outputs - HALO;
  const int column = first_column + lane * N;
  const int first_row = block_row() * ROWS, end_row = min(first_row + ROWS, rows);
  const bool inside = first_row >= STEPS && end_row + STEPS <= rows && first_column >= 0 &&
                      first_column + 32 * N <= columns;
  if (inside) {
    march<false>(in, out, first_row, end_row, column, rows, columns, center, side);
  } else {
    march<true>(in, out, first_row, end_row, column, rows, columns, center, side);
  }
}

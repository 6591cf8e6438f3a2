// The sums over the parts of k that a product was cut into, in order, and its epilogue.
//
// Idea:    where C has fewer tiles than the chip has SMs, blocks share a tile by dividing k. Each
//          writes its sums to memory of its own, so nothing depends on the blocks' order, and the
//          result has the same bits in every run.
// Changes: all SMs work; for 8 bytes of traffic per element and part.
// Counter: DRAM and L2 throughput.
//
// `partial` holds batch x splits matrices of m rows, `pitch` apart. SUM: their type, float32 or
// float64. COLUMNS: of C, for each thread, 32 apart; fewer give more blocks. C_TYPE, BIAS, READS_C,
// ACTIVATION, RUNS_IF as elsewhere.
// Launch: 32 x 8 threads, a warp for 32 * COLUMNS columns of a row: rows in grid x, columns in grid
// y, the batch in grid z.
#include "epilogue.cuh"
#include "grid_order.cuh"
#include "run_condition.cuh"

constexpr int parts_at_once = COLUMNS == 1 ? 16 : 4;  // loads in flight for each column

extern "C" __global__ void __launch_bounds__(256)
    reduce_splits(const SUM* partial, void* c, const float* bias, int m, int n, int splits,
                  long long pitch, long long leading, long long stride, SUM alpha, SUM beta,
                  const unsigned* flag) {
  await_previous_grid();
  let_next_grid_begin();
  if (does_nothing(flag)) return;
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  const int first = blockIdx.y * (32 * COLUMNS) + threadIdx.x;
  if (row >= m) return;
  const long long plane = m * pitch;
  const SUM* from = partial + blockIdx.z * splits * plane + row * pitch + first;
  C_TYPE* const to = static_cast<C_TYPE*>(c) + blockIdx.z * stride + row * leading;
  // All that C held is read before the first element is written: a read behind a write would wait.
  SUM before[COLUMNS] = {};
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) {
    if (READS_C && first + 32 * i < n) before[i] = static_cast<SUM>(widen(to[first + 32 * i]));
  }
  // The last lot has zeros behind the last part: loads one by one would wait for each other.
  SUM sum[COLUMNS] = {};
#pragma unroll 1
  for (int done = 0; done < splits; done += parts_at_once, from += parts_at_once * plane) {
    SUM part[parts_at_once][COLUMNS];
#pragma unroll
    for (int s = 0; s < parts_at_once; ++s) {
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) {
        const bool is_part = done + s < splits && first + 32 * i < n;
        part[s][i] = is_part ? from[s * plane + 32 * i] : SUM(0);
      }
    }
#pragma unroll
    for (int s = 0; s < parts_at_once; ++s) {
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) sum[i] += part[s][i];
    }
  }
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) {
    const int column = first + 32 * i;
    if (column >= n) break;
    const SUM added = static_cast<SUM>(bias_at<BIAS>(bias, row, column));
    to[column] = narrow<C_TYPE>(
        epilogue<ACTIVATION>(sum[i], alpha, READS_C ? beta : SUM(0), before[i], added));
  }
}

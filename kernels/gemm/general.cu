// Any product: every mix of types and orders, any extents, a batch, the whole epilogue.
//
// Idea:    tiles in shared memory as in matmul/14_register_tile_2d, but elements are widened and
//          rounded as they are loaded, so that the inner loop knows one type only, and what lies
//          outside the matrices is loaded as zero. Consecutive threads load along the order in
//          which an operand lies, whichever that is.
// Changes: problems that no faster kernel takes are computed too.
// Counter: ideal sectors on loads of either order.
//
// Constants: A_TYPE, B_TYPE, C_TYPE and OPERAND (element.cuh); A_BY_COLUMNS, B_BY_COLUMNS: whether
// an operand is column-major; READS_C, BIAS, ACTIVATION (epilogue.cuh); PER_THREAD x PER_THREAD
// elements of C for each of 16 x 16 threads; RUNS_IF (run_condition.cuh).
// Launch: one block of 256 threads per tile of C, columns first, then rows, then the batch.
#include "epilogue.cuh"
#include "run_condition.cuh"

using Sum = decltype(operand<OPERAND>(A_TYPE()));

constexpr int side = 16;   // threads along either side of a tile
constexpr int depth = 16;  // of k at a time
constexpr int tile = side * PER_THREAD;

// A tile of an operand: `depth` steps of k, each with `tile` values along m or n. The column more
// spreads the banks when consecutive threads hold consecutive steps.
using Tile = Sum[depth][tile + 1];

// Loads elements [start, start + tile) along m or n, steps [step, step + depth) of k.
// `along_steps`: whether k is the index that runs fastest in memory.
template <bool along_steps, typename Element>
__device__ void load_tile(Tile& to, const Element* matrix, long long leading, long long start,
                          long long count, long long step, long long steps) {
  for (int i = threadIdx.x; i < depth * tile; i += side * side) {
    const int s = along_steps ? i % depth : i / tile;
    const int x = along_steps ? i / depth : i % tile;
    const long long at =
        along_steps ? (start + x) * leading + step + s : (step + s) * leading + start + x;
    const bool inside = start + x < count && step + s < steps;
    to[s][x] = inside ? operand<OPERAND>(matrix[at]) : Sum(0);
  }
}

extern "C" __global__ __launch_bounds__(side* side) void gemm(
    const A_TYPE* A, const B_TYPE* B, C_TYPE* C, const float* bias, long long m, long long n,
    long long k, long long a_leading, long long b_leading, long long c_leading,
    long long a_stride, long long b_stride, long long c_stride, Sum alpha, Sum beta,
    const unsigned* flag) {
  if (does_nothing(flag)) return;
  __shared__ Tile a_tile;
  __shared__ Tile b_tile;

  const long long tiles_across = (n + tile - 1) / tile;
  const long long tiles_down = (m + tile - 1) / tile;
  const long long column_start = blockIdx.x % tiles_across * tile;
  const long long row_start = blockIdx.x / tiles_across % tiles_down * tile;
  const long long matrix = blockIdx.x / (tiles_across * tiles_down);
  A += matrix * a_stride;
  B += matrix * b_stride;
  C += matrix * c_stride;
  const int tx = threadIdx.x % side;
  const int ty = threadIdx.x / side;

  Sum sums[PER_THREAD][PER_THREAD] = {};
  for (long long step = 0; step < k; step += depth) {
    load_tile<!A_BY_COLUMNS>(a_tile, A, a_leading, row_start, m, step, k);
    load_tile<B_BY_COLUMNS>(b_tile, B, b_leading, column_start, n, step, k);
    __syncthreads();

    // Not further unrolled: doubles would spill.
#pragma unroll 4
    for (int s = 0; s < depth; ++s) {
      for (int i = 0; i < PER_THREAD; ++i) {
        for (int j = 0; j < PER_THREAD; ++j) {
          sums[i][j] =
              multiply_add(a_tile[s][ty + side * i], b_tile[s][tx + side * j], sums[i][j]);
        }
      }
    }
    __syncthreads();
  }

  // Unrolled whatever the activation costs: the sums stay in registers.
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
    const long long row = row_start + ty + side * i;
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j) {
      const long long column = column_start + tx + side * j;
      if (row >= m || column >= n) continue;
      store_with_epilogue<READS_C, ACTIVATION>(&C[row * c_leading + column], sums[i][j], alpha,
                                               beta, bias_at<BIAS>(bias, row, column));
    }
  }
}

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
// elements of C for each of 16 x 16 threads; SCALED: whether elements have factors (scales.cuh); RUNS_IF
// (run_condition.cuh).
// Launch: one block of 256 threads per tile of C, columns first, then rows, then the batch.
#include "element_tile.cuh"
#include "run_condition.cuh"
#include "scales.cuh"

// An element with its factor, where there are such.
struct Scaled {
  Scales scales;
  __device__ Sum operator()(Sum value, long long x, long long step) const {
    if (!SCALED) return value;
    return value * static_cast<Sum>(
                       scales.at(static_cast<int>(x), static_cast<int>(step / steps_of_scale)));
  }
};

extern "C" __global__ __launch_bounds__(side* side) void gemm(
    const A_TYPE* A, const B_TYPE* B, C_TYPE* C, const float* bias, long long m, long long n,
    long long k, long long a_leading, long long b_leading, long long c_leading,
    long long a_stride, long long b_stride, long long c_stride, Sum alpha, Sum beta,
    const unsigned* flag, Scales of_a, Scales of_b) {
  if (does_nothing(flag)) return;
  __shared__ Tile a_tile;
  __shared__ Tile b_tile;

  const long long tiles_across = (n + tile_side - 1) / tile_side;
  const long long tiles_down = (m + tile_side - 1) / tile_side;
  const long long column_start = blockIdx.x % tiles_across * tile_side;
  const long long row_start = blockIdx.x / tiles_across % tiles_down * tile_side;
  const long long matrix = blockIdx.x / (tiles_across * tiles_down);
  A += matrix * a_stride;
  B += matrix * b_stride;
  C += matrix * c_stride;

  ThreadSums sums;
  for (long long step = 0; step < k; step += depth) {
    load_tile(a_tile, A, !A_BY_COLUMNS, a_leading, row_start, m, step, k, Scaled{of_a});
    load_tile(b_tile, B, B_BY_COLUMNS, b_leading, column_start, n, step, k, Scaled{of_b});
    __syncthreads();
    sums.add(a_tile, b_tile);
    __syncthreads();
  }
  sums.store(C, c_leading, row_start, column_start, m, n, alpha, beta, bias);
}

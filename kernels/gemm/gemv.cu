// A matrix times a vector: every element of the matrix is read once: memory's speed is the limit.
//
// Idea:    WARPS warps walk side by side along a row, VECTOR elements a load, and their sums meet in
//          a fixed order: lanes, then warps. More warps would have one load each in rows of a few
//          KiB, and wait for each other the rest of their time.
// Changes: many independent loads are in flight and none is narrow; a tile kernel would compute
//          columns that are not there.
// Counter: DRAM throughput.
//
// Constants: ELEMENT, C_TYPE, OPERAND (element.cuh); VECTOR: elements that rows may be read by at
// once; X_VECTOR: whether those of x may, too; WARPS (1, 2, 4 or 8); OF_COLUMN: whether the result
// is a row of C, each element of which belongs to a column; READS_C, BIAS, ACTIVATION (epilogue.cuh).
// Launch: 256 threads, one block for 8 / WARPS rows, the batch in grid y.
#include "epilogue.cuh"
#include "grid_order.cuh"

using Sum = decltype(operand<OPERAND>(ELEMENT()));

constexpr int threads = 256, walkers = 32 * WARPS, rows_of_block = threads / walkers;

struct alignas(VECTOR * sizeof(ELEMENT)) Elements {
  ELEMENT of[VECTOR];
};

__device__ inline Elements load(const ELEMENT* from) {
  return *reinterpret_cast<const Elements*>(from);
}

__device__ inline Elements load_x(const ELEMENT* x, long long at, long long step) {
  if constexpr (X_VECTOR) {
    return load(x + at);
  } else {
    Elements elements;
#pragma unroll
    for (int e = 0; e < VECTOR; ++e) elements.of[e] = x[(at + e) * step];
    return elements;
  }
}

extern "C" __global__ __launch_bounds__(threads) void gemv(
    const ELEMENT* matrix, const ELEMENT* x, C_TYPE* y, const float* bias, long long rows,
    long long length, long long leading, long long x_step, long long y_step,
    long long matrix_stride, long long x_stride, long long y_stride, Sum alpha, Sum beta) {
  x += blockIdx.y * x_stride;
  y += blockIdx.y * y_stride;
  const int in_block = threadIdx.x / walkers, walker = threadIdx.x % walkers;
  const long long row = static_cast<long long>(blockIdx.x) * rows_of_block + in_block;
  // A row beyond the last is computed as the last, and not stored.
  matrix += blockIdx.y * matrix_stride + (row < rows ? row : rows - 1) * leading;

  await_previous_grid();
  Sum sum = 0;
  const auto add = [&](const ELEMENT& element, const ELEMENT& factor) {
    sum = multiply_add(operand<OPERAND>(element), operand<OPERAND>(factor), sum);
  };
  const long long whole = length / VECTOR * VECTOR;
#pragma unroll 2
  for (long long at = walker * VECTOR; at < whole; at += walkers * VECTOR) {
    const Elements elements = load(matrix + at), factors = load_x(x, at, x_step);
#pragma unroll
    for (int e = 0; e < VECTOR; ++e) add(elements.of[e], factors.of[e]);
  }
  const long long rest = whole + walker;
  if (rest < length) add(matrix[rest], x[rest * x_step]);

  let_next_grid_begin();
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xFFFFFFFFU, sum, distance);
  }
  if constexpr (WARPS > 1) {
    __shared__ Sum of_warps[rows_of_block][WARPS];
    if (walker % 32 == 0) of_warps[in_block][walker / 32] = sum;
    __syncthreads();
    sum = of_warps[in_block][0];
#pragma unroll
    for (int w = 1; w < WARPS; ++w) sum += of_warps[in_block][w];
  }
  if (walker > 0 || row >= rows) return;
  store_with_epilogue<READS_C, ACTIVATION>(
      &y[row * y_step], sum, alpha, beta,
      OF_COLUMN ? bias_at<BIAS>(bias, 0, row) : bias_at<BIAS>(bias, row, 0));
}

// A matrix times a vector: every element of the matrix is read once: memory's speed is the limit.
//
// Idea:    a block has ROWS rows. Its threads walk along them side by side, VECTOR elements a load,
//          a load of x serves all rows, and the sums meet in a fixed order: lanes, then warps.
// Changes: many independent loads are in flight and none is narrow; a tile kernel would compute
//          columns that are not there.
// Counter: DRAM throughput.
//
// Constants: ELEMENT, C_TYPE, OPERAND (element.cuh); VECTOR: elements that rows may be read by at
// once; X_VECTOR: whether those of x may, too; ROWS; OF_COLUMN: whether the result is a row of C,
// each element of which belongs to a column; READS_C, BIAS, ACTIVATION (epilogue.cuh).
// Launch: 256 threads, one block for ROWS rows, the batch in grid y.
#include "epilogue.cuh"
#include "grid_order.cuh"

using Sum = decltype(operand<OPERAND>(ELEMENT()));

constexpr int threads = 256, warps = threads / 32;

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
  __shared__ Sum of_warps[ROWS][warps];
  x += blockIdx.y * x_stride;
  y += blockIdx.y * y_stride;
  const long long first = static_cast<long long>(blockIdx.x) * ROWS;
  const ELEMENT* row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    // Rows beyond the last are computed as the last, and not stored.
    const long long at = first + r < rows ? first + r : rows - 1;
    row[r] = matrix + blockIdx.y * matrix_stride + at * leading;
  }

  await_previous_grid();
  Sum sum[ROWS] = {};
  const long long whole = length / VECTOR * VECTOR;
#pragma unroll 2
  for (long long at = threadIdx.x * VECTOR; at < whole; at += threads * VECTOR) {
    Elements elements[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) elements[r] = load(row[r] + at);
    const Elements factors = load_x(x, at, x_step);
#pragma unroll
    for (int e = 0; e < VECTOR; ++e) {
      const Sum factor = operand<OPERAND>(factors.of[e]);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        sum[r] = multiply_add(operand<OPERAND>(elements[r].of[e]), factor, sum[r]);
      }
    }
  }
  if (whole + threadIdx.x < length) {
    const long long at = whole + threadIdx.x;
    const Sum factor = operand<OPERAND>(x[at * x_step]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      sum[r] = multiply_add(operand<OPERAND>(row[r][at]), factor, sum[r]);
    }
  }

  let_next_grid_begin();
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      sum[r] += __shfl_down_sync(0xFFFFFFFFU, sum[r], distance);
    }
    if (threadIdx.x % 32 == 0) of_warps[r][threadIdx.x / 32] = sum[r];
  }
  __syncthreads();
  if (threadIdx.x >= ROWS || first + threadIdx.x >= rows) return;
  const long long at = first + threadIdx.x;
  Sum total = 0;
#pragma unroll
  for (int w = 0; w < warps; ++w) total += of_warps[threadIdx.x][w];
  store_with_epilogue<READS_C, ACTIVATION>(
      &y[at * y_step], total, alpha, beta,
      OF_COLUMN ? bias_at<BIAS>(bias, 0, at) : bias_at<BIAS>(bias, at, 0));
}

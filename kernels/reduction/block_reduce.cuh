// The values of a block's threads as one, through shuffles.
#pragma once

#include "operators.cuh"

template <typename Combine, typename T>
__device__ inline T warp_reduce(T value, const Combine& both) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = both(value, shuffle_down(value, distance));
  }
  return value;
}

// The result is thread 0's. All `threads` threads take part; a barrier must separate two calls.
template <int threads, typename Combine, typename T>
__device__ inline T block_reduce(T value, const T& nothing, const Combine& both) {
  static_assert(threads % 32 == 0 && threads <= 1024, "whole warps");
  constexpr int warps = threads / 32;
  __shared__ T of_warps[warps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_reduce(value, both);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp == 0) value = warp_reduce(lane < warps ? of_warps[lane] : nothing, both);
  return value;
}

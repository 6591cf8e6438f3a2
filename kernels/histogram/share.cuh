// A block's share of a list: 128-bit loads, several under way.
#pragma once

#include "common/pack.cuh"
#include "bins.cuh"

/// Calls count(element) for the elements of this thread; all threads of the grid together see each
/// element once. x at a multiple of 16 bytes, blocks of `threads` threads.
template <int threads, int unroll, typename F>
__device__ inline void for_share(const ELEMENT* x, long long n, const F& count) {
  constexpr int N = pack_size<ELEMENT>;
  using P = Pack<ELEMENT, N>;
  constexpr long long tile = static_cast<long long>(threads) * unroll * N;
  const long long whole = n / tile * tile;
  for (long long start = blockIdx.x * tile; start < whole; start += gridDim.x * tile) {
    const ELEMENT* first = x + start + threadIdx.x * N;
    P loaded[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      loaded[u] = load_once(reinterpret_cast<const P*>(first + u * threads * N));
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int e = 0; e < N; ++e) count(loaded[u].at[e]);
    }
  }
  // Less than a tile is left: the whole grid shares it, element by element.
  const long long all_threads = static_cast<long long>(gridDim.x) * threads;
  for (long long i = whole + blockIdx.x * static_cast<long long>(threads) + threadIdx.x; i < n;
       i += all_threads) {
    count(x[i]);
  }
}

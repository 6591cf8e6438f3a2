// 128 bits at a time, reversed in registers.
//
// Idea:    a thread writes whole packs of 16 bytes, UNROLL of them, and reads the packs that lie
//          mirrored. They are whole packs too if n is a multiple of the pack; if not, the thread
//          reads their elements one by one, which L1 serves.
// Changes: the bandwidth of the device's own copy.
// Counter: store requests fall, at 16 sectors each.
//
// x and y at multiples of 16 bytes; WHOLE is 1 if n is a multiple of the pack. Launch: blocks of
// THREADS, one per THREADS * UNROLL packs of y.
#include "common/pack.cuh"

constexpr int N = pack_size<ELEMENT>;
using P = Pack<ELEMENT, N>;

// The N elements whose mirror images begin at y[to].
__device__ inline P mirrored(const ELEMENT* x, long long to, long long n) {
  const ELEMENT* const last = x + (n - 1 - to);
#if WHOLE
  const P loaded = load_once(reinterpret_cast<const P*>(last - (N - 1)));
  P reversed;
#pragma unroll
  for (int e = 0; e < N; ++e) reversed.at[e] = loaded.at[N - 1 - e];
#else
  P reversed;
#pragma unroll
  for (int e = 0; e < N; ++e) reversed.at[e] = last[-e];
#endif
  return reversed;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    reverse(const ELEMENT* x, ELEMENT* y, long long n) {
  const long long first = (blockIdx.x * static_cast<long long>(THREADS) * UNROLL + threadIdx.x) * N;
  const long long tile_end = (blockIdx.x + 1LL) * THREADS * UNROLL * N;
  if (tile_end <= n) {
    P reversed[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) reversed[u] = mirrored(x, first + u * THREADS * N, n);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      store_once(reinterpret_cast<P*>(y + first + u * THREADS * N), reversed[u]);
    }
    return;
  }
  for (long long i = tile_end - THREADS * UNROLL * N + threadIdx.x; i < n; i += THREADS) {
    y[i] = x[n - 1 - i];
  }
}

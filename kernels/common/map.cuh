// The loop of every operation that works element by element, at the speed of memory: a block owns
// threads * unroll neighbouring packs, and every thread has `unroll` loads under way per input before
// it uses the first.
#pragma once

#include "common/pack.cuh"

/// out[i] = f({in[0][i], in[1][i], ...}) for the tile of this block. All addresses are multiples of
/// 16 bytes; blocks of `threads` threads.
template <int threads, int unroll, typename E, int INPUTS, typename F>
__device__ inline void map_tile(const E* const (&in)[INPUTS], E* out, long long n, const F& f) {
  constexpr int N = pack_size<E>;
  using P = Pack<E, N>;
  const long long first = (blockIdx.x * static_cast<long long>(threads) * unroll + threadIdx.x) * N;
  const long long tile_end = (blockIdx.x + 1LL) * threads * unroll * N;

  if (tile_end <= n) {
    P loaded[unroll][INPUTS];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int k = 0; k < INPUTS; ++k) {
        loaded[u][k] = load_once(reinterpret_cast<const P*>(in[k] + first + u * threads * N));
      }
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      P result;
#pragma unroll
      for (int e = 0; e < N; ++e) {
        E x[INPUTS];
#pragma unroll
        for (int k = 0; k < INPUTS; ++k) x[k] = loaded[u][k].at[e];
        result.at[e] = f(x);
      }
      store_once(reinterpret_cast<P*>(out + first + u * threads * N), result);
    }
    return;
  }
  // The last tile: element by element, up to the end.
  for (long long i = tile_end - threads * unroll * N + threadIdx.x; i < n; i += threads) {
    E x[INPUTS];
#pragma unroll
    for (int k = 0; k < INPUTS; ++k) x[k] = in[k][i];
    out[i] = f(x);
  }
}

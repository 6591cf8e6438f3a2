// A thread's share of a list: 128-bit loads, UNROLL of them under way.
#pragma once

#include "common/pack.cuh"
#include "operators.cuh"

// A sum has the result's type as soon as it leaves the thread: floats are summed in double
// across threads, at no cost that could be seen.
template <typename Op>
struct Across {
  using Type = typename Op::Value;
  static __device__ Type nothing() { return Op::nothing(); }
  static __device__ Type of(const typename Op::Value& v) { return v; }
  static __device__ Type both(const Type& a, const Type& b) { return Op::both(a, b); }
  static __device__ typename Op::Result result(const Type& v) { return Op::result(v); }
};
template <typename E>
struct Across<Sum<E>> {
  using Type = typename Sum<E>::Result;
  static __device__ Type nothing() { return 0; }
  static __device__ Type of(const typename Sum<E>::Value& v) { return v; }
  static __device__ Type both(const Type& a, const Type& b) { return a + b; }
  static __device__ Type result(const Type& v) { return v; }
};
using Wide = Across<Operator>;

// The grid strides through the list in tiles of THREADS * UNROLL packs a block. Each element of a
// pack has a value of its own, so that no addition waits for the one before.
template <int threads, int unroll>
__device__ inline Wide::Type reduce_share(const ELEMENT* x, long long n) {
  constexpr int N = pack_size<ELEMENT>;
  using P = Pack<ELEMENT, N>;
  constexpr long long tile = static_cast<long long>(threads) * unroll * N;
  Value mine[N];
#pragma unroll
  for (int e = 0; e < N; ++e) mine[e] = Operator::nothing();

  const long long whole = n / tile * tile;
  for (long long start = blockIdx.x * tile; start < whole; start += gridDim.x * tile) {
    const long long first = start + threadIdx.x * N;
    P loaded[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      loaded[u] = load_once(reinterpret_cast<const P*>(x + first + u * threads * N));
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int e = 0; e < N; ++e) {
        const long long index = first + u * threads * N + e;
        mine[e] = Operator::both(mine[e], Operator::of(loaded[u].at[e], index));
      }
    }
  }
  // The rest is less than a tile: the whole grid shares it, pack by pack and then one by one.
  const long long packs_end = n / N * N;
  const long long all_threads = static_cast<long long>(gridDim.x) * threads;
  const long long me = blockIdx.x * static_cast<long long>(threads) + threadIdx.x;
  for (long long i = whole + me * N; i < packs_end; i += all_threads * N) {
    const P loaded = load_once(reinterpret_cast<const P*>(x + i));
#pragma unroll
    for (int e = 0; e < N; ++e) {
      mine[e] = Operator::both(mine[e], Operator::of(loaded.at[e], i + e));
    }
  }
  if (packs_end + me < n) {
    mine[0] = Operator::both(mine[0], Operator::of(x[packs_end + me], packs_end + me));
  }
  Wide::Type all = Wide::of(mine[0]);
#pragma unroll
  for (int e = 1; e < N; ++e) all = Wide::both(all, Wide::of(mine[e]));
  return all;
}

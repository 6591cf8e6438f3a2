// One value for every SECTION elements: the order of the additions depends on nothing but the list.
//
// Idea:    a block reduces a section that is the same on every device, and the sections' values are
//          reduced in sections again until one is left. Threads add up in the result's type, a sum
//          of floats in double. So one GPU, another GPU, several of them and a CPU that keeps the
//          same order (reduction_cpu.cpp) give the same bits.
// Changes: the grid no longer follows the device; blocks at the end of a wave leave SMs idle.
// Counter: blocks; double-precision additions, one an element instead of one a thread.
//
// x at a multiple of 16 bytes. Launch: a block of THREADS for each SECTION elements or values.
#include "block_reduce.cuh"
#include "in_flight.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce(const ELEMENT* x, long long n, Wide::Type* sections) {
  constexpr int N = pack_size<ELEMENT>;
  using P = Pack<ELEMENT, N>;
  constexpr long long step = static_cast<long long>(THREADS) * N, tile = step * UNROLL;
  const long long begin = blockIdx.x * static_cast<long long>(SECTION);
  const long long end = begin + SECTION < n ? begin + SECTION : n;
  Wide::Type mine[N];
#pragma unroll
  for (int e = 0; e < N; ++e) mine[e] = Wide::nothing();

  long long first = begin + threadIdx.x * N;
  for (long long start = begin; start + tile <= end; start += tile, first += tile) {
    P loaded[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      loaded[u] = load_once(reinterpret_cast<const P*>(x + first + u * step));
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int e = 0; e < N; ++e) {
        const long long index = first + u * step + e;
        mine[e] = Wide::both(mine[e], Wide::of(Operator::of(loaded[u].at[e], index)));
      }
    }
  }
  for (; first < end; first += step) {
#pragma unroll
    for (int e = 0; e < N; ++e) {
      if (first + e < end) {
        mine[e] = Wide::both(mine[e], Wide::of(Operator::of(x[first + e], first + e)));
      }
    }
  }
  Wide::Type all = mine[0];
#pragma unroll
  for (int e = 1; e < N; ++e) all = Wide::both(all, mine[e]);
  all = block_reduce<THREADS>(all, Wide::nothing(), Wide::both);
  if (threadIdx.x == 0) sections[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_again(const Wide::Type* values, long long n, Wide::Type* sections) {
  const long long begin = blockIdx.x * static_cast<long long>(SECTION);
  const long long end = begin + SECTION < n ? begin + SECTION : n;
  Wide::Type mine = Wide::nothing();
  for (long long i = begin + threadIdx.x; i < end; i += THREADS) {
    mine = Wide::both(mine, values[i]);
  }
  const Wide::Type all = block_reduce<THREADS>(mine, Wide::nothing(), Wide::both);
  if (threadIdx.x == 0) sections[blockIdx.x] = all;
}

extern "C" __global__ void finish(const Wide::Type* value, Operator::Result* result) {
  *result = Wide::result(*value);
}

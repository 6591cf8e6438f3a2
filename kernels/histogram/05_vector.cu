// 128-bit loads.
//
// Idea:    a thread takes 16 bytes at a time, UNROLL of them under way, and counts all elements in
//          them.
// Changes: one load instruction for 16 elements of 8 bits; memory is read at its own speed, and the
//          atomics in shared memory are what remains.
// Counter: load requests fall; shared atomics and their conflicts do not.
//
// x at a multiple of 16 bytes; bins: BINS counters, zero before the launch. Launch: any number of
// blocks of THREADS; 4 BINS bytes of dynamic shared memory.
#include "share.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    histogram(const ELEMENT* x, long long n, COUNTER* bins) {
  extern __shared__ unsigned counts[];
  for (int b = threadIdx.x; b < BINS; b += THREADS) counts[b] = 0;
  __syncthreads();
  for_share<THREADS, UNROLL>(x, n, [&](ELEMENT element) {
    const int bin = bin_of(element);
    if (bin >= 0) atomicAdd(counts + bin, 1u);
  });
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += THREADS) {
    if (counts[b]) atomicAdd(bins + b, static_cast<COUNTER>(counts[b]));
  }
}

// A histogram of its own for every block, in shared memory.
//
// Idea:    the block counts into shared memory, and adds what it has counted to the result once.
// Changes: atomic additions stay inside the SM; global memory sees BINS of them a block.
// Counter: global atomics all but vanish; shared atomics appear, with conflicts where lanes of a
//          warp meet in one bank.
//
// bins: BINS counters, zero before the launch; the number of bins need not be that of threads.
// Launch: any number of blocks; 4 BINS bytes of dynamic shared memory.
#include "bins.cuh"

extern "C" __global__ void histogram(const ELEMENT* x, long long n, COUNTER* bins) {
  extern __shared__ unsigned counts[];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) counts[b] = 0;
  __syncthreads();
  const long long threads = static_cast<long long>(blockDim.x) * gridDim.x;
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < n;
       i += threads) {
    const int bin = bin_of(x[i]);
    if (bin >= 0) atomicAdd(counts + bin, 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
    if (counts[b]) atomicAdd(bins + b, static_cast<COUNTER>(counts[b]));
  }
}

// Several copies of the block's histogram, against contention.
//
// Idea:    each warp counts into one of COPIES histograms, one behind the other in shared memory.
// Changes: fewer warps meet in one counter. Lanes of one warp still meet: where all elements are
//          equal, all 32.
// Counter: shared atomics' conflicts: as before within a warp, fewer between warps.
//
// bins: BINS counters, zero before the launch. Launch: any number of blocks; 4 BINS * COPIES bytes
// of dynamic shared memory.
#include "bins.cuh"

extern "C" __global__ void histogram(const ELEMENT* x, long long n, COUNTER* bins) {
  extern __shared__ unsigned counts[];
  for (int b = threadIdx.x; b < BINS * COPIES; b += blockDim.x) counts[b] = 0;
  __syncthreads();
  unsigned* const mine = counts + threadIdx.x / 32 % COPIES * BINS;
  const long long threads = static_cast<long long>(blockDim.x) * gridDim.x;
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < n;
       i += threads) {
    const int bin = bin_of(x[i]);
    if (bin >= 0) atomicAdd(mine + bin, 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
    COUNTER sum = 0;
    for (int c = 0; c < COPIES; ++c) sum += counts[c * BINS + b];
    if (sum) atomicAdd(bins + b, sum);
  }
}

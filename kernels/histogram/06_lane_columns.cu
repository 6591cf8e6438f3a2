// A copy of the histogram for each of COPIES lanes, laid out so that lanes cannot meet.
//
// Idea:    counter [bin][copy], and lane l counts in copy l % COPIES. With 32 copies lane l uses
//          bank l alone: whatever the data are, a warp's 32 additions fall into 32 banks. Where
//          shared memory cannot hold all bins, each launch counts SPAN of them, from FIRST on.
// Changes: one wavefront a request, on random, sorted and constant data alike.
// Counter: shared atomics' wavefronts equal their requests; bank conflicts are 0 with 32 copies.
//
// x at a multiple of 16 bytes; bins: BINS counters, zero before the first launch. Launch: any
// number of blocks of THREADS; 4 SPAN * COPIES bytes of dynamic shared memory. COPIES is a power of
// two.
#include "share.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    histogram(const ELEMENT* x, long long n, COUNTER* bins) {
  static_assert(COPIES <= 32 && (COPIES & (COPIES - 1)) == 0, "a power of two");
  static_assert(FIRST >= 0 && FIRST + SPAN <= BINS, "bins that there are");
  extern __shared__ unsigned counts[];
  for (int b = threadIdx.x; b < SPAN * COPIES; b += THREADS) counts[b] = 0;
  __syncthreads();
  unsigned* const column = counts + threadIdx.x % COPIES;
  for_share<THREADS, UNROLL>(x, n, [&](ELEMENT element) {
    // One comparison: as a natural number, what lies before FIRST, or in no bin, is beyond SPAN.
    const unsigned bin = static_cast<unsigned>(bin_of(element) - FIRST);
    if (bin < SPAN) atomicAdd(column + bin * COPIES, 1u);
  });
  __syncthreads();

  // COPIES neighbouring lanes add up one bin; blocks begin at different bins, so that they do not
  // all add to the same counter of the result at once.
  const int copy = threadIdx.x % COPIES;
  constexpr int groups = THREADS / COPIES;
  const int rotation = static_cast<int>(blockIdx.x * 37u % SPAN);
  for (int start = 0; start < SPAN; start += groups) {
    const int place = start + threadIdx.x / COPIES;
    const int bin = (place + rotation) % SPAN;
    unsigned sum = place < SPAN ? counts[bin * COPIES + copy] : 0;
#pragma unroll
    for (int distance = COPIES / 2; distance > 0; distance /= 2) {
      sum += __shfl_down_sync(0xffffffffu, sum, distance, COPIES);
    }
    if (place < SPAN && copy == 0 && sum) {
      atomicAdd(bins + FIRST + bin, static_cast<COUNTER>(sum));
    }
  }
}

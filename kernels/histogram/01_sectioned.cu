// A section of the list for every thread: the lecture's first histogram.
//
// Idea:    thread t counts elements t * section to (t + 1) * section - 1 with atomic additions in
//          global memory.
// Changes: nothing to compare with yet. Neighbouring threads read elements a section apart, so
//          nothing is coalesced, and all threads of the grid contend for the same few counters.
// Counter: 32 sectors per load request; atomic operations in global memory: one an element.
//
// bins: BINS counters, zero before the launch. Launch: any.
#include "bins.cuh"

extern "C" __global__ void histogram(const ELEMENT* x, long long n, COUNTER* bins) {
  const long long threads = static_cast<long long>(blockDim.x) * gridDim.x;
  const long long section = (n - 1) / threads + 1;
  const long long start = (blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x) * section;
  for (long long k = 0; k < section; ++k) {
    if (start + k < n) {
      const int bin = bin_of(x[start + k]);
      if (bin >= 0) atomicAdd(bins + bin, static_cast<COUNTER>(1));
    }
  }
}

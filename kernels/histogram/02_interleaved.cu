// All threads of the grid take neighbouring elements, then all move on.
//
// Idea:    the same atomic additions in another order.
// Changes: loads are coalesced. The atomic additions remain what limits it.
// Counter: sectors per load request fall to what the elements need; as many atomics as in 01.
//
// bins: BINS counters, zero before the launch. Launch: any.
#include "bins.cuh"

extern "C" __global__ void histogram(const ELEMENT* x, long long n, COUNTER* bins) {
  const long long threads = static_cast<long long>(blockDim.x) * gridDim.x;
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < n;
       i += threads) {
    const int bin = bin_of(x[i]);
    if (bin >= 0) atomicAdd(bins + bin, static_cast<COUNTER>(1));
  }
}

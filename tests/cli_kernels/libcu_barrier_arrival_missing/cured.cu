// A cuda::barrier for as many threads as arrive at it. Its waits sleep by the clock.
#include <cuda/barrier>

__global__ void reversed(const int* x, int* y) {
  __shared__ int tile[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  tile[threadIdx.x] = x[threadIdx.x];
  ready.arrive_and_wait();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

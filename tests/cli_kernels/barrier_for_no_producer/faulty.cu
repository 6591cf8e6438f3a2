// All warps but the last produce; a block of one warp has no producer.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void hand_over(const int* x, int* y) {
  __shared__ int tile[64];
  __shared__ alignas(8) unsigned long long full;
  const int producers = blockDim.x - 32;
  if (threadIdx.x == 0) ptx::mbarrier_init(&full, producers);
  __syncthreads();
  if (threadIdx.x < producers) {
    tile[threadIdx.x] = x[threadIdx.x];
    ptx::mbarrier_arrive(&full);
    return;
  }
  if (producers > 0) while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  const int lane = threadIdx.x - producers;
  y[lane] = producers > 0 ? tile[lane] : x[lane];
}

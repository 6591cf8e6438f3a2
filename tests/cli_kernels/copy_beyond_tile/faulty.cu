// A copy of two rows into a tile of one goes on in the variable behind it.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void rows(const int* x, int* y) {
  __shared__ alignas(16) int tile[64], rest[64];
  __shared__ alignas(8) unsigned long long full;
  rest[threadIdx.x] = 1;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, 512);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x, 512, &full);
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  y[threadIdx.x] = tile[63 - threadIdx.x] + rest[threadIdx.x];
}

// A row has five elements, but bulk copies take multiples of 16 bytes.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void row(const int* x, int* y, int bytes) {
  __shared__ alignas(16) int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   bytes);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x, bytes, &full);
  }
  __syncthreads();
  if (threadIdx.x < 5) {
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
    y[threadIdx.x] = tile[threadIdx.x];
  }
}

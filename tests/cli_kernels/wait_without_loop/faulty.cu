// An mbarrier's try_wait gives up after a while: its answer says whether the phase is over.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void reverse(const int* x, int* y) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof tile);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x + 64 * blockIdx.x,
                       sizeof tile, &full);
  }
  __syncthreads();
  ptx::mbarrier_try_wait_parity(&full, 0);
  y[64 * blockIdx.x + threadIdx.x] = tile[63 - threadIdx.x];
}

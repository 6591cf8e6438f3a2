// The copy engine sees what threads write to global memory only behind a proxy fence too.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void squares_reversed(const int* x, int* scratch, int* y) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) unsigned long long full;
  int* const own = scratch + 64 * blockIdx.x;
  own[threadIdx.x] = x[64 * blockIdx.x + threadIdx.x] * x[64 * blockIdx.x + threadIdx.x];
  ptx::fence_proxy_async(ptx::space_global);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof tile);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, own, sizeof tile, &full);
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  y[64 * blockIdx.x + threadIdx.x] = tile[63 - threadIdx.x];
}

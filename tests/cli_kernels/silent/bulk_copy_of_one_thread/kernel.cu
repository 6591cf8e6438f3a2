// One thread initialises the mbarrier and starts the copy at once: no fence stands between them.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void scale(const float* x, float* y, float by) {
  __shared__ alignas(128) float tile[256];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x + 256 * blockIdx.x,
                       sizeof tile, &full);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof tile);
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  for (int i = threadIdx.x; i < 256; i += blockDim.x) y[256 * blockIdx.x + i] = by * tile[i];
}

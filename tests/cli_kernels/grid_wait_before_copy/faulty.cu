// The thread that begins a copy of the last grid's results has to have waited for that grid.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void produce(const int* x, int* middle) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  middle[i] = 2 * x[i];
  asm volatile("griddepcontrol.launch_dependents;");
}

__global__ void consume(const int* middle, int* y) {
  __shared__ alignas(16) int tile[64];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("griddepcontrol.launch_dependents;");
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof tile);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, middle + 64 * blockIdx.x,
                       sizeof tile, &full);
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  y[64 * blockIdx.x + threadIdx.x] = tile[63 - threadIdx.x];
}

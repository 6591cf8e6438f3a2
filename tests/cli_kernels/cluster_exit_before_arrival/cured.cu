// The last arrival at a neighbour's barrier: the neighbour leaves without having waited for it.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void meet(const int* x, int* y) {
  __shared__ alignas(8) unsigned long long empty;
  unsigned rank, remote;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&empty, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  y[32 * blockIdx.x + threadIdx.x] = x[32 * blockIdx.x + threadIdx.x];
  if (threadIdx.x == 0) {
    const auto own = static_cast<unsigned>(__cvta_generic_to_shared(&empty));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own), "r"(rank ^ 1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote));
    while (!ptx::mbarrier_try_wait_parity(&empty, 0)) {}
  }
}

// st.async reaches for a block of the cluster, which must have started.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void send(const int* x, int* y) {
  __shared__ alignas(8) unsigned long long full;
  __shared__ int part[32];
  unsigned rank, there, heard;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof part);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&part[threadIdx.x]));
  const auto barrier = static_cast<unsigned>(__cvta_generic_to_shared(&full));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(to), "r"(rank ^ 1));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(heard) : "r"(barrier), "r"(rank ^ 1));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                   there),
               "r"(x[32 * blockIdx.x + threadIdx.x]), "r"(heard)
               : "memory");
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  y[32 * blockIdx.x + threadIdx.x] = part[threadIdx.x];
}

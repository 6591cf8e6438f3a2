// Each block expects the bytes that the other sends at its own barrier.
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

__global__ void send(const int* x, int* y) {
  __shared__ alignas(8) unsigned long long ready;
  __shared__ int part[32];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned other = cluster.block_rank() ^ 1;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&ready, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  unsigned long long* there = cluster.map_shared_rank(&ready, other);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &ready,
                                   sizeof part);
  }
  ptx::st_async(cluster.map_shared_rank(part, other) + threadIdx.x,
                x[blockIdx.x * 32 + threadIdx.x], there);
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &ready, 0)) {}
  y[blockIdx.x * 32 + threadIdx.x] = part[31 - threadIdx.x];
  cluster.sync();
}

// A relaxed arrival at the cluster's barrier does not show new mbarriers to the other block.
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

__global__ void both(const int* x, int* y) {
  __shared__ alignas(8) unsigned long long ready;
  __shared__ int part[32];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned other = cluster.block_rank() ^ 1;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&ready, 32);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncwarp();
  ptx::barrier_cluster_arrive(ptx::sem_relaxed);
  ptx::barrier_cluster_wait(ptx::sem_acquire);
  cluster.map_shared_rank(part, other)[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
  ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                       cluster.map_shared_rank(&ready, other));
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &ready, 0)) {}
  y[blockIdx.x * 32 + threadIdx.x] = part[31 - threadIdx.x];
  cluster.sync();
}

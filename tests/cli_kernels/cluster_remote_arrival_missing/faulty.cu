// Block 1 of a cluster waits for threads of both, but those of block 0 never arrive.
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
__global__ void collect(const int* x, int* y) {
  __shared__ alignas(8) unsigned long long full;
  __shared__ int part[64];
  cg::cluster_group cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) ptx::mbarrier_init(&full, 64);
  cluster.sync();
  cluster.map_shared_rank(part, 1)[32 * rank + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
  unsigned long long* there = cluster.map_shared_rank(&full, 1);
  if (rank == 1) {
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, there);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {}
    y[threadIdx.x] = part[threadIdx.x] + part[63 - threadIdx.x];
  }
  cluster.sync();
}

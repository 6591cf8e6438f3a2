// Blocks of a cluster pass a number around a ring of barriers in their shared memory; each thread
// reads what another warp of its own block wrote one round earlier.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
__global__ void ring(int* y, int rounds) {
  __shared__ alignas(8) unsigned long long ready, empty;
  __shared__ int cell[64];
  cg::cluster_group cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
  unsigned previous = (rank + cluster.num_blocks() - 1) % cluster.num_blocks();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&ready, 64);
    ptx::mbarrier_init(&empty, 64);
  }
  cluster.sync();
  int value = blockIdx.x * 64 + threadIdx.x;
  unsigned long long* to = cluster.map_shared_rank(&ready, next);
  unsigned long long* from = cluster.map_shared_rank(&empty, previous);
  for (int r = 0; r < rounds; ++r) {
    cluster.map_shared_rank(cell, next)[63 - threadIdx.x] = value;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, to);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &ready, r & 1)) {}
    value = cell[threadIdx.x] + 1;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, from);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &empty, r & 1)) {}
  }
  y[blockIdx.x * 64 + threadIdx.x] = value;
  cluster.sync();
}

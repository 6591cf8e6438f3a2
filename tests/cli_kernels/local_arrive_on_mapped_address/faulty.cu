// An arrival at the other block's barrier takes the form for a cluster.
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

__global__ void exchange(const int* x, int* y) {
  __shared__ alignas(8) unsigned long long ready;
  __shared__ int part[32];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned other = cluster.block_rank() ^ 1;
  if (threadIdx.x == 0) ptx::mbarrier_init(&ready, 32);
  cluster.sync();
  cluster.map_shared_rank(part, other)[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
  unsigned long long* there = cluster.map_shared_rank(&ready, other);
  ptx::mbarrier_arrive(there);
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &ready, 0)) {}
  y[blockIdx.x * 32 + threadIdx.x] = part[31 - threadIdx.x];
  cluster.sync();
}

// A thread must wait at the barrier of its cluster before it arrives there again.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void exchange(const int* x, int* y) {
  __shared__ int part[64];
  cg::cluster_group cluster = cg::this_cluster();
  int i = blockIdx.x * 64 + threadIdx.x;
  part[threadIdx.x] = x[i];
  auto token = cluster.barrier_arrive();
  if (threadIdx.x == 0) y[i] = 0;
  cluster.barrier_wait(std::move(token));
  y[i] = cluster.map_shared_rank(part, cluster.block_rank() ^ 1)[63 - threadIdx.x];
  cluster.sync();
}

// One warp waits for its own block before it arrives at the cluster's barrier, the other behind it.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void exchange(const int* x, int* y) {
  __shared__ int part[64];
  cg::cluster_group cluster = cg::this_cluster();
  int i = blockIdx.x * 64 + threadIdx.x;
  part[threadIdx.x] = x[i];
  if (threadIdx.x < 32) __syncthreads();
  cluster.sync();
  y[i] = cluster.map_shared_rank(part, cluster.block_rank() ^ 1)[63 - threadIdx.x];
  cluster.sync();
  if (threadIdx.x >= 32) __syncthreads();
}

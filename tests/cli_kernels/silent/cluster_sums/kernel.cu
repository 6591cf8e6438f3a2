// Every block of a cluster adds its sum to shared memory of the first, by plain stores and atomics;
// the cluster's barrier also orders what goes through global memory.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void sums(const int* x, int* y, int* scratch) {
  __shared__ int total, parts[8];
  cg::cluster_group cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) total = 0;
  cluster.sync();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(cluster.map_shared_rank(&total, 0), x[i]);
  int warp = __reduce_add_sync(~0u, x[i]);
  if (threadIdx.x == 0) *cluster.map_shared_rank(&parts[rank], 0) = warp;
  scratch[i] = 2 * x[i];
  cluster.sync();
  int next = (rank + 1) % cluster.num_blocks();
  int other = scratch[(blockIdx.x - rank + next) * blockDim.x + threadIdx.x];
  if (rank == 0 && threadIdx.x < cluster.num_blocks()) y[i] = total + parts[threadIdx.x];
  else y[i] = other;
  cluster.sync();
}

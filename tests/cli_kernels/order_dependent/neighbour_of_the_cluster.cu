// A block reads memory of its neighbour before that has written it.
// launch: --grid 2 --block 32 --cluster 2 --arg y=i32[2]=zeros
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void pass(int* y) {
  __shared__ int value;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) value = 0;
  cluster.sync();
  if (threadIdx.x == 0) {
    value = 7 + cluster.block_rank();
    y[blockIdx.x] = *cluster.map_shared_rank(&value, 1 - cluster.block_rank());
  }
  cluster.sync();
}

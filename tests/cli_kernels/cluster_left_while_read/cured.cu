// One block asks for a number for all; it stays until the others have read it.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void numbered(int* next, int* y) {
  __shared__ int number;
  auto cluster = cg::this_cluster();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) number = atomicAdd(next, 1);
  cluster.sync();
  y[32 * blockIdx.x + threadIdx.x] = *cluster.map_shared_rank(&number, 0);
  cluster.sync();
}

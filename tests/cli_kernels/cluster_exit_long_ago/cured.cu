// The second block of a pair is done early, and the first tells it later how far it came.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void pair(const int* x, int* y, int n) {
  __shared__ int done;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) done = 0;
  cluster.sync();
  if (cluster.block_rank() == 1) {
    cluster.sync();
    y[32 + threadIdx.x] = done;
    return;
  }
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += x[(i * 32 + threadIdx.x) % 1024];
  __nanosleep(2000);
  if (threadIdx.x == 0) *cluster.map_shared_rank(&done, 1) = n;
  cluster.sync();
  y[threadIdx.x] = sum;
}

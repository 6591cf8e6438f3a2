// The whole grid waits, and the clusters in it; both kinds of barriers order global memory.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void both(float* a, float* b, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::cluster_group c = cg::this_cluster();
  int i = grid.thread_rank();
  for (int r = 0; r < 3; ++r) {
    if (i < n) a[i] = i + r;
    grid.sync();
    if (i < n) b[i] = a[n - 1 - i];
    c.sync();
    grid.sync();
  }
}

// A cooperative launch: the grid waits for all blocks before it reads backwards.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void two(float* a, float* b, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  if (i < n) a[i] = i;
  grid.sync();
  if (i < n) b[i] = a[n - 1 - i];
}

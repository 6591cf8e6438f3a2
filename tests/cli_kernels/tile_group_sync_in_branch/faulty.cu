// The tile has 16 threads, of which 8 come to its sync.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void swap(int* x) {
  __shared__ int s[32];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int t = threadIdx.x;
  s[t] = x[t];
  if (tile.thread_rank() < 8) {
    tile.sync();
    x[t] = s[t ^ 1];
  } else {
    x[t] = 0;
  }
  tile.sync();
  x[t] += s[t];
}

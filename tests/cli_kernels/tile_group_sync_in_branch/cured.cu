// The tile has 16 threads, of which 8 come to its sync.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void swap(int* x) {
  __shared__ int s[32];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int t = threadIdx.x;
  s[t] = x[t];
  tile.sync();
  x[t] = tile.thread_rank() < 8 ? s[t ^ 1] : 0;
  x[t] += s[t];
}

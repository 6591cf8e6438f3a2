// Sums of tiles of 8 threads by cooperative groups, then of the block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void sum(const int* x, int* y, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int v = block.thread_rank() < n ? x[block.thread_rank()] : 0;
  int s = cg::reduce(tile, v, cg::plus<int>());
  __shared__ int parts[32];
  if (tile.thread_rank() == 0) parts[tile.meta_group_rank()] = s;
  block.sync();
  auto warp = cg::tiled_partition<32>(block);
  if (warp.meta_group_rank() == 0) {
    int p = warp.thread_rank() < block.size() / 8 ? parts[warp.thread_rank()] : 0;
    p = cg::reduce(warp, p, cg::plus<int>());
    if (warp.thread_rank() == 0) *y = p;
  }
}

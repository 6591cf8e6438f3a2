// Shuffles, votes, matches, barriers, bit operations, cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void warp(int* p, unsigned* u) {
  p[0] = __shfl_sync(0xffff, p[1], 2, 16) + __shfl_up_sync(~0u, p[2], 1) +
         __shfl_down_sync(~0u, p[3], 2) + __shfl_xor_sync(~0u, p[4], 4);
  p[5] = __any_sync(~0u, p[6]) + __all_sync(~0u, p[7]) + __uni_sync(~0u, p[8]);
  u[0] = __ballot_sync(~0u, p[9]) + __activemask() + __match_any_sync(~0u, u[1]);
  int same;
  u[2] = __match_all_sync(~0u, u[3], &same) + same;
  p[10] = __syncthreads_count(p[11]) + __syncthreads_and(p[12]) + __syncthreads_or(p[13]);
  __syncwarp(0xff);
  p[14] = __popc(p[15]) + __clz(p[16]) + __brev(p[17]) + __ffs(p[18]);
  u[4] = __byte_perm(u[5], u[6], 0x3210) + __funnelshift_l(u[7], u[8], u[9]);
  p[19] = __dp4a(p[20], p[21], p[22]) + __mulhi(p[23], p[24]);
#if __CUDA_ARCH__ >= 800
  p[25] = __reduce_add_sync(~0u, p[26]);
#endif
}

__global__ void group(int* p) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  p[0] = cg::reduce(tile, p[1], cg::greater<int>());
  auto active = cg::coalesced_threads();
  p[2] = active.size() + active.thread_rank();
}

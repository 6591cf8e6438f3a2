// Dimensions of clusters in the kernel itself; arrival at the barrier and the wait apart.
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 2, 1) dims(int* y) {
  __shared__ int s[32];
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  cg::cluster_group c = cg::this_cluster();
  if (threadIdx.x == 0) init(&b, blockDim.x);
  s[threadIdx.x] = threadIdx.x + 100 * c.block_rank();
  auto token = c.barrier_arrive();
  int v = 0;
  dim3 bi = c.block_index(), db = c.dim_blocks(), dt = c.dim_threads();
  unsigned nr = c.num_threads(), tr = c.thread_rank();
  c.barrier_wait(std::move(token));
  int* p = c.map_shared_rank(s, 3 - c.block_rank());
  v = p[31 - threadIdx.x];
  v += 10000 * c.query_shared_rank(p);
  v += 100000 * (__isClusterShared(p) && !__isGlobal(p));
  v += 1000000 * (bi.x + 2 * bi.y) ;
  unsigned rank = __clusterRelativeBlockRank();
  v += (rank != c.block_rank()) * 7 + (nr != 128) * 9 + (db.x * db.y != 4) * 11 + (tr != threadIdx.x + 32 * c.block_rank()) + (dt.x != 64);
  auto t = b.arrive();
  b.wait(std::move(t));
  y[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + threadIdx.x] = v;
  c.sync();
}

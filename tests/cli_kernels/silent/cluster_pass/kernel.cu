// Pairs of blocks fill each other's shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;
__global__ void pass(const float* x, float* y) {
  __shared__ float in[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  cg::cluster_group c = cg::this_cluster();
  unsigned r = c.block_rank();
  if (threadIdx.x == 0) init(&full, 1);
  c.sync();
  if (threadIdx.x == 0) {
    cuda::device::barrier_expect_tx(full, 0);
    (void)full.arrive();
  }
  float* there = c.map_shared_rank(in, r ^ 1);
  there[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  c.sync();
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  float s = cg::reduce(tile, in[threadIdx.x], cg::plus<float>());
  y[blockIdx.x * 128 + threadIdx.x] = s;
  c.sync();
}

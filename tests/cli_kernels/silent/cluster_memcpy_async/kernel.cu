// A bulk copy behind cuda::memcpy_async fills a stage, which the other block of the cluster reads.
#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2) copy(const float* x, float* y, int rounds) {
  __shared__ alignas(16) float in[2][128];
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2];
  auto block = cg::this_thread_block();
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    init(&full[0], blockDim.x);
    init(&full[1], blockDim.x);
  }
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < rounds; ++r) {
    int s = r % 2;
    const float* from = x + (blockIdx.x * rounds + r) * 128;
    cuda::memcpy_async(block, in[s], from, cuda::aligned_size_t<16>(512), full[s]);
    full[s].arrive_and_wait();
    cluster.sync();
    float* there = cluster.map_shared_rank(in[s], cluster.block_rank() ^ 1);
    sum += there[127 - threadIdx.x] + in[s][threadIdx.x];
    cluster.sync();
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

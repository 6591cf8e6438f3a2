// The same with the standard library's pipeline object.
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(const float* in, float* out, int tiles) {
  __shared__ float stage[2][64];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline();
  int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&stage[i & 1][t], &in[i * 64 + t], sizeof(float), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    __syncthreads();
    sum += stage[i & 1][63 - t];
    __syncthreads();
    pipe.consumer_release();
  }
  out[t] = sum;
}

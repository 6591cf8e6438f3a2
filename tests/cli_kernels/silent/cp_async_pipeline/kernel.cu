// Two stages of asynchronous copies: one lands while the other is used.
#include <cuda_pipeline.h>
__global__ void k(const float* in, float* out, int tiles) {
  __shared__ float stage[2][128];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&stage[0][t], &in[t], 4);
  __pipeline_commit();
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) {
      __pipeline_memcpy_async(&stage[(i + 1) & 1][t], &in[(i + 1) * 128 + t], 4);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += stage[i & 1][127 - t];
    __syncthreads();
  }
  out[t] = sum;
}

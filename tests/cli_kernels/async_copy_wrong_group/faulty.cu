// Two stages: before a stage is used, all copies but those of the stage after it must have landed.
#include <cuda_pipeline.h>
__global__ void sums(const float* x, float* y, int stages) {
  __shared__ float tile[2][64];
  int t = threadIdx.x;
  float sum = 0.0f;
  __pipeline_memcpy_async(&tile[0][t], &x[t], sizeof(float));
  __pipeline_commit();
  for (int i = 0; i < stages; ++i) {
    int next = min(i + 1, stages - 1);
    __pipeline_memcpy_async(&tile[(i + 1) % 2][t], &x[64 * next + t], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum += tile[i % 2][63 - t];
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  y[t] = sum;
}

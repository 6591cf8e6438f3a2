// Each thread waits for its own copies; those of its neighbours may still be under way.
#include <cuda_pipeline.h>
__global__ void reverse(const float* x, float* y) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &x[t], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[t] = tile[63 - t];
}

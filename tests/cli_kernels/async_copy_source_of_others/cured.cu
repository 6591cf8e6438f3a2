// One thread clears what others copy: it must know that they have waited.
#include <cuda_pipeline.h>
__global__ void take(int* x, int* y) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &x[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (t == 0) for (int i = 0; i < 64; ++i) x[i] = 0;
  y[t] = tile[63 - t];
}

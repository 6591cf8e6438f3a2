// A tile is copied and its source cleared: the copy may read the source until it was waited for.
#include <cuda_pipeline.h>
__global__ void take(int* x, int* y) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &x[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  x[t] = 0;
  __syncthreads();
  y[t] = tile[63 - t];
}

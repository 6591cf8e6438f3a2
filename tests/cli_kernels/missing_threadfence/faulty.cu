// The last block to finish adds up what the others wrote: they must have published it before.
__device__ unsigned finished;
__global__ void total(const float* x, float* part, float* sum) {
  part[blockIdx.x] = x[blockIdx.x];
  if (atomicAdd(&finished, 1u) == gridDim.x - 1) {
    float all = 0.0f;
    for (int i = 0; i < gridDim.x; ++i) all += part[i];
    *sum = all;
  }
}

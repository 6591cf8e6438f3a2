// "Is it computed already?" asked without an atomic, computed by whoever comes first.
__device__ int ready;
__device__ float table;
__global__ void use(const float* x, float* y) {
  if (blockIdx.x == 0) {
    table = sqrtf(x[0]);
    __threadfence();
    atomicExch(&ready, 1);
  }
  while (atomicAdd(&ready, 0) == 0) {}
  __threadfence();
  y[blockIdx.x] = table;
}

// "Is it computed already?" asked without an atomic, computed by whoever comes first.
__device__ int ready;
__device__ float table;
__global__ void use(const float* x, float* y) {
  if (ready == 0) {
    table = sqrtf(x[blockIdx.x]);
    __threadfence();
    ready = 1;
  }
  y[blockIdx.x] = table;
}

// Block 0 raises a flag when the value is there; without a fence the flag may be seen first.
__device__ int value;
__device__ int flag;
__global__ void pass(const int* x, int* y) {
  if (blockIdx.x == 0) {
    value = x[0];
    __threadfence();
    atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {}
    y[blockIdx.x] = value;
  }
}

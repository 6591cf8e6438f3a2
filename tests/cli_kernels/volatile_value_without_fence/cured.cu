// A volatile value behind a flag: without a fence it may arrive after the flag.
__device__ int flag;
__global__ void pass(const int* x, volatile int* value, int* y) {
  if (blockIdx.x == 0) {
    *value = x[0] + 1;
    __threadfence();
    atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {}
    y[blockIdx.x] = *value;
  }
}

// Block 0 tells the others that its value is there. An atomic of block scope tells only its own.
__device__ int value;
__device__ int flag;
__global__ void pass(const int* x, int* y) {
  if (blockIdx.x == 0) {
    value = x[0];
    __threadfence();
    atomicExch_block(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {}
    __threadfence();
    y[blockIdx.x] = value;
  }
}

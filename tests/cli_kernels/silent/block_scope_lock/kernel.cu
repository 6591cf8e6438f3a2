// Warps of a block take turns under a lock of block scope.
__global__ void k(const int* x, int* y) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS_block(&lock, 0, 1) != 0) {}
    __threadfence_block();
    sum += x[threadIdx.x];
    __threadfence_block();
    atomicExch_block(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

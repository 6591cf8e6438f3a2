// A lock hands over its section, but not what was written in it.
__device__ int lock;
__global__ void total(const int* x, int* sum) {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  *sum += x[blockIdx.x];
  __threadfence();
  atomicExch(&lock, 0);
}

// A lock that all blocks take must be a lock of the device.
__device__ int lock;
__global__ void total(const int* x, int* sum) {
  while (atomicCAS_block(&lock, 0, 1) != 0) {}
  __threadfence();
  *sum += x[blockIdx.x];
  __threadfence();
  atomicExch_block(&lock, 0);
}

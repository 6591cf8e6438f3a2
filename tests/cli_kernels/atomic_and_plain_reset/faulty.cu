// Thread 0 sets the counter of the block back while others may still add to it.
__global__ void rounds(const int* x, int* y, int n) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int round = 0; round < n; ++round) {
    if (x[round * 64 + threadIdx.x] % 3 == 0) atomicAdd(&found, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      y[round] = found;
      found = 0;
    }
  }
}

// The lanes of one warp count the positive numbers in a volatile variable.
__global__ void count(const int* x, int* y) {
  __shared__ volatile int found;
  if (threadIdx.x == 0) found = 0;
  __syncwarp();
  if (x[threadIdx.x] > 3) found = found + 1;
  __syncwarp();
  if (threadIdx.x == 0) *y = found;
}

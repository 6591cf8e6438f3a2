// Each block adds to the result of the block before it.
// launch: --grid 6 --block 32 --arg y=i32[7]=zeros
__global__ void chain(int* y) {
  if (threadIdx.x == 0) y[blockIdx.x + 1] = y[blockIdx.x] + 1;
}

// The second warp looks at the flag once, and does not wait.
// launch: --grid 1 --block 64 --arg y=i32[1]=zeros
__global__ void pass(int* y) {
  __shared__ volatile int flag, value;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = 42;
    flag = 1;
  }
  if (threadIdx.x == 32) y[0] = flag ? value : -1;
}

// One thread sets what all read.
// launch: --grid 1 --block 96 --arg y=i32[96]=zeros
__global__ void broadcast(int* y) {
  __shared__ int value;
  if (threadIdx.x == 0) value = 1;
  __syncthreads();
  if (threadIdx.x == 40) value = 2;
  y[threadIdx.x] = value;
}

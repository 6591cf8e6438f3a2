// The warps add in shared memory.
// launch: --grid 1 --block 128 --arg y=i32[1]=zeros
__global__ void add(int* y) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) sum += 1 + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) y[0] = sum;
}

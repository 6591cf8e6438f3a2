// The second warp reads what the first writes, with no barrier.
// launch: --grid 1 --block 64 --arg y=i32[64]=zeros
__global__ void mirror(int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[threadIdx.x] = threadIdx.x + 1;
  y[threadIdx.x] = s[63 - threadIdx.x];
}

// One thread of each warp adds the number of its warp.
// launch: --grid 1 --block 256 --arg sum=i32[1]=zeros
__global__ void add(int* sum) {
  if (threadIdx.x % 32 == 0) sum[0] += 1 + threadIdx.x / 32;
}

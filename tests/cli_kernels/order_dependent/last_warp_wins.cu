// Every warp leaves its number; the last one stays.
// launch: --grid 1 --block 128 --arg x=i32[1]=zeros
__global__ void leave(int* x) {
  if (threadIdx.x % 32 == 0) x[0] = threadIdx.x / 32;
}

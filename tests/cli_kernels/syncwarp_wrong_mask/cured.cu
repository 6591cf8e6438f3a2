// The mask names 32 lanes, of which 16 are there.
__global__ void exchange(int* x) {
  __shared__ int tile[32];
  int t = threadIdx.x;
  if (t < 16) {
    tile[t] = x[t];
    __syncwarp(0x0000ffff);
    x[t] = tile[15 - t];
  } else {
    x[t] = 0;
    return;
  }
}

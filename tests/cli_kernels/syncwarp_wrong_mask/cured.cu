// The mask names 32 lanes, of which 16 are there; the others wait at the barrier.
__global__ void exchange(int* x) {
  __shared__ int tile[32];
  int t = threadIdx.x;
  if (t < 16) {
    tile[t] = x[t];
    __syncwarp(0x0000ffff);
    x[t] = tile[15 - t];
  } else {
    tile[t] = 0;
  }
  __syncthreads();
  x[t] += tile[31 - t];
}

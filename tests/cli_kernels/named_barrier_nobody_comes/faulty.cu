// The first warp waits for 64 threads at barrier 1, the second at barrier 2.
__global__ void meet(const int* x, int* y) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  y[t] = tile[63 - t];
}

// All 32 lanes take part, but the mask names 16.
__global__ void broadcast(const int* x, int* y) {
  int t = threadIdx.x;
  y[t] = __shfl_sync(0xffffffff, x[t], 0);
}

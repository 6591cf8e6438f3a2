// A tile read backwards: volatile does not make a warp wait for the other.
__global__ void reverse(int* x, int n) {
  __shared__ volatile int tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  x[t] = tile[n - 1 - t];
}

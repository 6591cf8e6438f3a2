// Two barriers at two places are not one.
__global__ void split(const int* x, int* y) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  if (t < 32) {
    tile[t] = x[t];
  } else {
    tile[t] = -x[t];
  }
  __syncthreads();
  y[t] = tile[63 - t];
}

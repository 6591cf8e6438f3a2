// Prefix sums: all must have read before anybody writes.
__global__ void scan(const int* x, int* y) {
  __shared__ int sums[64];
  int t = threadIdx.x;
  sums[t] = x[t];
  __syncthreads();
  for (int step = 1; step < 64; step *= 2) {
    int left = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += left;
    __syncthreads();
  }
  y[t] = sums[t];
}

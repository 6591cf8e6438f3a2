// A tree of sums whose steps overlap.
// launch: --grid 1 --block 128 --arg x=i32[128]=iota --arg y=i32[1]=zeros
__global__ void tree(const int* x, int* y) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) s[threadIdx.x] += s[threadIdx.x + step];
  }
  if (threadIdx.x == 0) y[0] = s[0];
}

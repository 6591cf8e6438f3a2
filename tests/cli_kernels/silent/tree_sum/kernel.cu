// A tree of sums for any block size that is a power of two, the last warp by shuffles.
template <int Threads>
__global__ void tree_sum(const float* x, float* sums, int n) {
  __shared__ float part[Threads];
  const int t = threadIdx.x;
  float mine = 0.0f;
  for (int i = blockIdx.x * Threads + t; i < n; i += gridDim.x * Threads) mine += x[i];
  part[t] = mine;
  __syncthreads();
#pragma unroll
  for (int half = Threads / 2; half >= 32; half /= 2) {
    if (t < half) part[t] = mine = mine + part[t + half];
    __syncthreads();
  }
  if (t >= 32) return;
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffffu, mine, step);
  if (t == 0) sums[blockIdx.x] = mine;
}

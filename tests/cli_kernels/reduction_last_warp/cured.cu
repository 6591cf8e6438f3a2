// The last steps belong to one warp, but its lanes too must wait for one another.
__global__ void sum(const float* x, float* y) {
  __shared__ float part[64];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  if (t < 32) {
    float mine = part[t] + part[t + 32];
    for (int half = 16; half > 0; half /= 2) {
      __syncwarp();
      part[t] = mine;
      __syncwarp();
      mine += part[(t + half) % 32];
    }
    if (t == 0) y[0] = mine;
  }
}

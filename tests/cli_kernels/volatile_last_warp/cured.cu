// The last steps of a reduction without __syncwarp(): volatile does not keep lanes in step.
__global__ void sum(const float* x, float* y) {
  __shared__ float part[64];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  if (t < 32) {
    float mine = part[t] + part[t + 32];
    for (int half = 16; half > 0; half /= 2) {
      part[t] = mine;
      __syncwarp();
      if (t < half) mine += part[t + half];
      __syncwarp();
    }
    if (t == 0) y[0] = mine;
  }
}

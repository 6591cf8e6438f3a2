// The last steps of a reduction without __syncwarp(): volatile does not keep lanes in step.
__global__ void sum(const float* x, float* y) {
  __shared__ volatile float part[64];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  if (t < 32) {
    part[t] += part[t + 32];
    part[t] += part[t + 16];
    part[t] += part[t + 8];
    part[t] += part[t + 4];
    part[t] += part[t + 2];
    part[t] += part[t + 1];
  }
  if (t == 0) y[0] = part[0];
}

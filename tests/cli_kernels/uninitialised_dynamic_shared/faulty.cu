// The halo on the right is never filled.
__global__ void smooth(const float* x, float* y, int n) {
  extern __shared__ float tile[];
  int t = threadIdx.x;
  int i = blockIdx.x * blockDim.x + t;
  tile[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = 0.5f * (tile[t] + tile[t + 1]);
}

// The last thread has no right neighbour.
__global__ void smooth(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n) y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0f;
}

// Five taps, but the table has four.
__constant__ float taps[5] = {1, 2, 4, 2, 1};
__global__ void filter(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 4 >= n) return;
  float sum = 0.0f;
  for (int t = 0; t < 5; ++t) sum += taps[(i + t) % 5] * x[i + t];
  y[i] = sum;
}

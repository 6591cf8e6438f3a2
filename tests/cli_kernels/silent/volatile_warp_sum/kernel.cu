// The reduction of a warp as it should be: volatile or not, __syncwarp() orders its steps.
__global__ void k(const int* x, int* y) {
  __shared__ volatile int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  s[t + 32] = 0;
  __syncwarp();
  for (int d = 16; d > 0; d /= 2) {
    int other = s[t + d];
    __syncwarp();
    s[t] += other;
    __syncwarp();
  }
  if (t == 0) *y = s[0];
}

// Every call lays its own frame on the stack.
__device__ __noinline__ int depth(int n, int* trail) {
  int frame[256];
  for (int i = 0; i < 256; ++i) frame[i] = n + i;
  trail[0] = frame[n % 256];
  return n == 0 ? 0 : 1 + depth(n - 1, frame) + frame[(n * 7) % 256] * 0;
}
__global__ void count(int* y, int n) {
  int trail[1];
  y[threadIdx.x] = depth(n % 4, trail);
}

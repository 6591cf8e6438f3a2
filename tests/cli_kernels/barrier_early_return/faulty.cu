// Threads without an element leave before the barrier.
__global__ void reverse(const int* x, int* y, int n) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  if (t >= n) return;
  tile[t] = x[t];
  __syncthreads();
  y[t] = tile[n - 1 - t];
}

// Exchanges of neighbours in shared memory, a barrier after every phase.
__global__ void sort(int* a, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) s[i] = a[i];
  __syncthreads();
  for (int phase = 0; phase < n; ++phase) {
    int i = 2 * t + (phase & 1);
    if (i + 1 < n && s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; }
    __syncthreads();
  }
  for (int i = t; i < n; i += blockDim.x) a[i] = s[i];
}

// The reduction in one pass: partial sums are volatile, a counter says which block is the last.
__device__ unsigned done;
__global__ void k(const int* x, volatile int* parts, int* sum, unsigned n) {
  __shared__ int s[64];
  __shared__ bool last;
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (unsigned d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  int all = 0;
  for (unsigned b = t; b < gridDim.x; b += 64) all += parts[b];
  s[t] = all;
  __syncthreads();
  for (unsigned d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    *sum = s[0];
    done = 0;
  }
}

// The block that finishes last adds up what all have published.
__device__ unsigned finished;
__global__ void total(const int* x, int* parts, int* sum, int n) {
  __shared__ int block_sum;
  __shared__ bool last;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&block_sum, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = block_sum;
    __threadfence();
    last = atomicAdd(&finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int all = 0;
  for (int b = 0; b < gridDim.x; ++b) all += parts[b];
  *sum = all;
  finished = 0;
}

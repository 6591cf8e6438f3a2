// A thread shows the others where its value lies, in shared memory.
__global__ void show(const int* x, int* y) {
  __shared__ int* where;
  __shared__ int value;
  if (threadIdx.x == 0) value = x[threadIdx.x];
  if (threadIdx.x == 0) where = &value;
  __syncthreads();
  y[threadIdx.x] = *where;
}

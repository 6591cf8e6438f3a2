// A thread shows the others where its value lies. Local memory is private: they look at their own.
__global__ void show(const int* x, int* y) {
  __shared__ int* where;
  int value = x[threadIdx.x];
  if (threadIdx.x == 0) where = &value;
  __syncthreads();
  y[threadIdx.x] = *where;
}

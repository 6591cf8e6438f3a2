// Each thread keeps a pointer to its own array in shared memory, and reads it back.
__global__ void k(const int* x, int* y, int n) {
  __shared__ int* mine[64];
  int own[4];
  for (int i = 0; i < 4; ++i) own[i] = x[threadIdx.x] + i;
  mine[threadIdx.x] = &own[n];
  __syncthreads();
  y[threadIdx.x] = *mine[threadIdx.x];
}

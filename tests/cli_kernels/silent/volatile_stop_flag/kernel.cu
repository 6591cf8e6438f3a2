// Blocks search until one has found the number; a volatile flag lets the others stop early.
__global__ void k(const int* x, int wanted, int n, volatile int* stop, int* where) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (*stop) return;
    if (x[i] == wanted) {
      atomicExch(where, i);
      *stop = 1;
    }
  }
}

// A counter that all blocks increase; the plain read of it may see any state.
__global__ void count(const int* x, int* found, int* order) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] % 7 == 0) {
    order[i] = atomicAdd(found, 1) + 1;
  }
}

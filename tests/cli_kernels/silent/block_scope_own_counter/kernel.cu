// Each block has a counter of its own, for which atomics of block scope suffice.
__global__ void k(const int* x, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] % 3 == 0) atomicAdd_block(&count[blockIdx.x], 1);
}

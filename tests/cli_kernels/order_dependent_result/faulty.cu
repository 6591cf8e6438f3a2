// Rows get their places in a list from an atomic: those depend on the order of the blocks.
__global__ void places(const int* lengths, int* begins, int* total) {
  if (threadIdx.x != 0) return;
  begins[blockIdx.x] = atomicAdd(total, lengths[blockIdx.x]);
}

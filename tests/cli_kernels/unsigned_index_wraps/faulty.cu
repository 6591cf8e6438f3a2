// threadIdx.x is unsigned: 0 - 1 is four billion, as an index of 64 bits.
__global__ void difference(const float* x, float* y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  size_t left = blockIdx.x * blockDim.x + threadIdx.x - 1;
  if (i < n) y[i] = x[i] - x[left];
}

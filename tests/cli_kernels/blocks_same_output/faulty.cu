// Without blockIdx every block writes the same elements.
__global__ void fill(int* y) {
  int i = threadIdx.x;
  y[i] = blockIdx.x;
}

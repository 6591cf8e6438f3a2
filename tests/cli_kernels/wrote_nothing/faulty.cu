// The condition is the wrong way round: no thread has i >= n.
__global__ void fill(int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) y[i] = i;
}

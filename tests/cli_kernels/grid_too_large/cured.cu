// Rows in y: there may be 65,535 of them.
__global__ void mark(int* y, int n) {
  for (int row = blockIdx.y; row < n; row += gridDim.y) y[row] = row;
}

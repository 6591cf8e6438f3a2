// A picture of 12 rows and 20 columns: an element's row is multiplied by the number of columns.
__global__ void twice(const float* in, float* out, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) {
    out[column * columns + row] = 2.0f * in[row * columns + column];
  }
}

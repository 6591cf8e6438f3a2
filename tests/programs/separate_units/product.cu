#include "matrix.h"

__global__ void product(Matrix m, const float* x, float* y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row == 0) launches += 1;
  if (row < m.rows) y[row] = dot_row(m, row, x);
}

extern "C" int matrix_times_vector(const Matrix* m, const float* x, float* y) {
  product<<<(m->rows + 63) / 64, 64>>>(*m, x, y);
  return cudaGetLastError();
}

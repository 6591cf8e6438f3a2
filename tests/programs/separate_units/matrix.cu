#include "matrix.h"

#include <cstdio>
#include <cstdlib>

__device__ int launches = 0;

__device__ float dot_row(const Matrix& m, int row, const float* x) {
  float sum = 0.0f;
  for (int c = 0; c < m.columns; ++c) sum += m.data[row * m.columns + c] * x[c];
  return sum;
}

static void must(cudaError_t error) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "matrix: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

extern "C" void matrix_create(Matrix* m, int rows, int columns) {
  m->rows = rows;
  m->columns = columns;
  must(cudaMalloc(&m->data, sizeof(float) * rows * columns));
}

extern "C" void matrix_upload(Matrix* m, const float* values) {
  must(cudaMemcpy(m->data, values, sizeof(float) * m->rows * m->columns, cudaMemcpyHostToDevice));
}

extern "C" void matrix_destroy(Matrix* m) {
  must(cudaFree(m->data));
  m->data = nullptr;
}

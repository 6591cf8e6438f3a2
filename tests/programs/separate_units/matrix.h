// A dense matrix on the GPU. The functions that kernels share are compiled once, in matrix.cu.
#pragma once

#include <cstddef>

struct Matrix {
  int rows;
  int columns;
  float* data;
};

__device__ float dot_row(const Matrix& m, int row, const float* x);
extern __device__ int launches;

extern "C" {
void matrix_create(Matrix* m, int rows, int columns);
void matrix_upload(Matrix* m, const float* values);
void matrix_destroy(Matrix* m);
int matrix_times_vector(const Matrix* m, const float* x, float* y);
}

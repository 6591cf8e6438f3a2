// Several translation units, linked with -rdc=true: power iteration.
#include "matrix.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void divide(float* x, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] /= by;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 90;
  std::vector<float> values(n * n), x(n, 1.0f);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) values[i * n + j] = i == j ? 2.0f : 1.0f / n;
  }

  Matrix matrix;
  matrix_create(&matrix, n, n);
  matrix_upload(&matrix, values.data());
  float *d_x, *d_y;
  cudaMalloc(&d_x, n * sizeof(float));
  cudaMalloc(&d_y, n * sizeof(float));
  cudaMemcpy(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);

  float eigenvalue = 0.0f;
  for (int step = 0; step < 5; ++step) {
    if (matrix_times_vector(&matrix, d_x, d_y) != 0) {
      std::fprintf(stderr, "the product failed\n");
      return 1;
    }
    cudaMemcpy(x.data(), d_y, n * sizeof(float), cudaMemcpyDeviceToHost);
    eigenvalue = 0.0f;
    for (float element : x) eigenvalue = std::fmax(eigenvalue, std::fabs(element));
    divide<<<(n + 31) / 32, 32>>>(d_y, n, eigenvalue);
    float* t = d_x;
    d_x = d_y;
    d_y = t;
  }

  int count = 0;
  cudaMemcpyFromSymbol(&count, launches, sizeof(count));
  const float expected = 3.0f - 1.0f / n;
  const bool good = std::fabs(eigenvalue - expected) < 1e-3f && count == 5;
  std::printf("largest eigenvalue %.3f after %d products\n", eigenvalue, count);
  std::puts(good ? "PASSED" : "FAILED");
  matrix_destroy(&matrix);
  cudaFree(d_x);
  cudaFree(d_y);
  return good ? 0 : 1;
}

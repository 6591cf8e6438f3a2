// Exercise 1: add two vectors on the GPU and compare with the CPU.
// Usage: vector_add [n]
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                          \
  do {                                                                       \
    cudaError_t code = (call);                                               \
    if (code != cudaSuccess) {                                               \
      fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(code));  \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

__global__ void add(const float *x, const float *y, float *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    z[i] = x[i] + y[i];
  }
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 50000;
  size_t bytes = n * sizeof(float);

  float *x = (float *)malloc(bytes);
  float *y = (float *)malloc(bytes);
  float *z = (float *)malloc(bytes);
  for (int i = 0; i < n; i++) {
    x[i] = 0.5f * i;
    y[i] = 1000.0f - 0.25f * i;
  }

  float *dev_x, *dev_y, *dev_z;
  CHECK(cudaMalloc((void **)&dev_x, bytes));
  CHECK(cudaMalloc((void **)&dev_y, bytes));
  CHECK(cudaMalloc((void **)&dev_z, bytes));
  CHECK(cudaMemcpy(dev_x, x, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dev_y, y, bytes, cudaMemcpyHostToDevice));

  int block = 256;
  int grid = (n + block - 1) / block;
  printf("%d elements, %d blocks of %d threads\n", n, grid, block);
  add<<<grid, block>>>(dev_x, dev_y, dev_z, n);
  CHECK(cudaGetLastError());

  CHECK(cudaMemcpy(z, dev_z, bytes, cudaMemcpyHostToDevice));  // MISTAKE

  int wrong = 0;
  for (int i = 0; i < n; i++) {
    if (z[i] != x[i] + y[i]) {
      wrong++;
    }
  }
  printf("z[1] = %.2f, z[n-1] = %.2f\n", z[1], z[n - 1]);
  printf(wrong == 0 ? "Test PASSED\n" : "Test FAILED\n");

  CHECK(cudaFree(dev_x));
  CHECK(cudaFree(dev_y));
  CHECK(cudaFree(dev_z));
  free(x);
  free(y);
  free(z);
  return wrong == 0 ? 0 : 1;
}

// printf and assert in kernels: a permutation is checked and inverted.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void invert(const int *permutation, int *inverse, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int target = permutation[i];
  assert(target >= 0 && target < n);  // FOUND
  inverse[target] = i;
  if (i % 100 == 0) {
    printf("%d goes to %d (%s, %.1f%%)\n", i, target, i < target ? "up" : "down", 100.0 * i / n);
  }
}

int main(int argc, char **argv) {
  int n = 301;
  if (argc > 1) n = atoi(argv[1]);
  int *permutation = (int *)malloc(n * sizeof(int));
  int *inverse = (int *)malloc(n * sizeof(int));
  for (int i = 0; i < n; i++) permutation[i] = n - i;  // MISTAKE: from n to 1
  for (int i = 0; i + 3 < n; i += 3) {
    int t = permutation[i];
    permutation[i] = permutation[i + 3];
    permutation[i + 3] = t;
  }

  int *d_permutation, *d_inverse;
  cudaMalloc((void **)&d_permutation, n * sizeof(int));
  cudaMalloc((void **)&d_inverse, n * sizeof(int));
  cudaMemcpy(d_permutation, permutation, n * sizeof(int), cudaMemcpyHostToDevice);

  invert<<<(n + 127) / 128, 128>>>(d_permutation, d_inverse, n);
  cudaError_t result = cudaDeviceSynchronize();
  if (result != cudaSuccess) {
    printf("the kernel failed: %s\n", cudaGetErrorName(result));
    return 3;
  }

  cudaMemcpy(inverse, d_inverse, n * sizeof(int), cudaMemcpyDeviceToHost);
  int good = 1;
  for (int i = 0; i < n; i++) good = good && inverse[permutation[i]] == i;
  printf("%s\n", good ? "PASSED" : "FAILED");
  cudaFree(d_permutation);
  cudaFree(d_inverse);
  free(permutation);
  free(inverse);
  return good ? 0 : 1;
}

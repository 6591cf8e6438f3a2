// Bitonic sort: small distances in shared memory, large ones in global memory.
#include <cstdio>
#include <cstdlib>

#define SHARED_SIZE 512

__device__ inline void order(unsigned &a, unsigned &b, bool ascending) {
  if ((a > b) == ascending) {
    unsigned t = a;
    a = b;
    b = t;
  }
}

// All steps with a distance below SHARED_SIZE / 2, for sequences of `from` to `to` elements.
__global__ void sort_shared(unsigned *keys, unsigned from, unsigned to) {
  __shared__ unsigned local[SHARED_SIZE];
  unsigned t = threadIdx.x;
  unsigned base = blockIdx.x * SHARED_SIZE;
  local[t] = keys[base + t];
  local[t + SHARED_SIZE / 2] = keys[base + t + SHARED_SIZE / 2];

  for (unsigned size = from; size <= to; size *= 2) {
    unsigned start = size / 2 < SHARED_SIZE / 2 ? size / 2 : SHARED_SIZE / 2;
    for (unsigned stride = start; stride > 0; stride /= 2) {
      __syncthreads();
      unsigned i = 2 * t - (t & (stride - 1));
      bool ascending = ((base + i) & size) == 0;
      order(local[i], local[i + stride], ascending);
    }
  }
  __syncthreads();
  keys[base + t] = local[t];
  keys[base + t + SHARED_SIZE / 2] = local[t + SHARED_SIZE / 2];
}

__global__ void merge_global(unsigned *keys, unsigned size, unsigned stride) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned i = 2 * t - (t & (stride - 1));
  order(keys[i], keys[i + stride], (i & size) == 0);
}

static int compare(const void *a, const void *b) {
  unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  unsigned n = argc > 1 ? atoi(argv[1]) : 8192;
  if (n < SHARED_SIZE || (n & (n - 1)) != 0) {
    fprintf(stderr, "n must be a power of two, at least %d\n", SHARED_SIZE);
    return 2;
  }
  unsigned *keys = (unsigned *)malloc(n * sizeof(unsigned));
  unsigned *sorted = (unsigned *)malloc(n * sizeof(unsigned));
  srand(7);
  for (unsigned i = 0; i < n; i++) keys[i] = rand() % 100000;

  unsigned *d_keys;
  cudaError_t status = cudaMalloc((void **)&d_keys, n * sizeof(unsigned));
  if (status == cudaSuccess) {
    status = cudaMemcpy(d_keys, keys, n * sizeof(unsigned), cudaMemcpyHostToDevice);
  }
  if (status != cudaSuccess) {
    fprintf(stderr, "no data on the GPU: %s\n", cudaGetErrorString(status));
    return 2;
  }

  unsigned blocks = n / SHARED_SIZE;
  sort_shared<<<blocks, SHARED_SIZE / 2>>>(d_keys, 2, SHARED_SIZE);
  for (unsigned size = 2 * SHARED_SIZE; size <= n; size *= 2) {
    for (unsigned stride = size / 2; stride > SHARED_SIZE / 2; stride /= 2) {
      merge_global<<<blocks, SHARED_SIZE / 2>>>(d_keys, size, stride);
    }
    sort_shared<<<blocks, SHARED_SIZE / 2>>>(d_keys, size, size);
  }
  status = cudaGetLastError();
  if (status == cudaSuccess) {
    status = cudaMemcpy(sorted, d_keys, n * sizeof(unsigned), cudaMemcpyDeviceToHost);
  }
  if (status != cudaSuccess) {
    fprintf(stderr, "sorting failed: %s\n", cudaGetErrorString(status));
    return 2;
  }

  qsort(keys, n, sizeof(unsigned), compare);
  unsigned wrong = 0;
  for (unsigned i = 0; i < n; i++) wrong += keys[i] != sorted[i];
  printf("%u keys from %u to %u, %u misplaced\n", n, sorted[0], sorted[n - 1], wrong);
  printf("%s\n", wrong == 0 ? "PASSED" : "FAILED");
  cudaFree(d_keys);
  free(keys);
  free(sorted);
  return wrong != 0;
}

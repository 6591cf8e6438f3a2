/*
 * Lab 3: sum of an array, from the slow kernel to the fast one.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define THREADS 128

// Step 1: neighbours first. The active threads lie scattered over all warps.
__global__ void sum_neighbours(const int *in, int *out, unsigned int n) {
  __shared__ int part[THREADS];
  unsigned int t = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + t;
  part[t] = (i < n) ? in[i] : 0;
  __syncthreads();
  for (unsigned int step = 1; step < blockDim.x; step *= 2) {
    if (t % (2 * step) == 0) {
      part[t] += part[t + step];
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

// Step 2: halves. The active threads are the first ones.
__global__ void sum_halves(const int *in, int *out, unsigned int n) {
  __shared__ int part[THREADS];
  unsigned int t = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + t;
  part[t] = (i < n) ? in[i] : 0;
  __syncthreads();
  for (unsigned int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) {
      part[t] += part[t + half];
      __syncthreads();  // MISTAKE: only some threads come here
    }
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__inline__ __device__ int warp_sum(int value) {
  for (int distance = warpSize / 2; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xffffffff, value, distance);
  }
  return value;
}

// Step 3: each thread adds several elements, each warp adds by shuffles.
__global__ void sum_shuffles(const int *in, int *out, unsigned int n) {
  __shared__ int of_warp[THREADS / 32];
  int sum = 0;
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    sum += in[i];
  }
  int lane = threadIdx.x % warpSize;
  int warp = threadIdx.x / warpSize;
  sum = warp_sum(sum);
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = (lane < THREADS / 32) ? of_warp[lane] : 0;
    sum = warp_sum(sum);
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

typedef void (*kernel_t)(const int *, int *, unsigned int);

int main(int argc, char **argv) {
  unsigned int n = 20001;
  if (argc > 1) n = strtoul(argv[1], NULL, 10);
  unsigned int blocks = (n + THREADS - 1) / THREADS;

  int *h_in = new int[n];
  int *h_out = new int[blocks];
  long long expected = 0;
  for (unsigned int i = 0; i < n; i++) {
    h_in[i] = (i * 7 + 3) % 101;
    expected += h_in[i];
  }

  int *d_in, *d_out;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, blocks * sizeof(int));
  cudaMemcpy(d_in, h_in, n * sizeof(int), cudaMemcpyHostToDevice);

  kernel_t kernels[] = {sum_neighbours, sum_halves, sum_shuffles};
  const char *names[] = {"neighbours", "halves", "shuffles"};
  int failed = 0;
  for (int k = 0; k < 3; k++) {
    unsigned int grid = (k == 2 && blocks > 8) ? 8 : blocks;
    kernels[k]<<<grid, THREADS>>>(d_in, d_out, n);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
      printf("%s: %s\n", names[k], cudaGetErrorString(error));
      return 2;
    }
    cudaMemcpy(h_out, d_out, grid * sizeof(int), cudaMemcpyDeviceToHost);
    long long sum = 0;
    for (unsigned int b = 0; b < grid; b++) sum += h_out[b];
    printf("%-10s sum = %lld, expected %lld: %s\n", names[k], sum, expected,
           sum == expected ? "PASSED" : "FAILED");
    if (sum != expected) failed = 1;
  }

  cudaFree(d_in);
  cudaFree(d_out);
  delete[] h_in;
  delete[] h_out;
  return failed;
}

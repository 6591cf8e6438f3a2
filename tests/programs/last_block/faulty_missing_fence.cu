// A sum in one launch: the block that finishes last adds the results of all blocks.
#include <cstdio>
#include <cstdlib>

#define N_THREADS 128

__device__ unsigned int blocks_done = 0;

__device__ int block_sum(int value) {
  __shared__ int cache[N_THREADS];
  cache[threadIdx.x] = value;
  __syncthreads();
  for (int s = N_THREADS / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
    __syncthreads();
  }
  int sum = cache[0];
  __syncthreads();
  return sum;
}

__global__ void sum_all(const int *in, int n, int *partial, int *result) {
  __shared__ bool last;
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    mine += in[i];
  }
  mine = block_sum(mine);

  if (threadIdx.x == 0) {
    partial[blockIdx.x] = mine;  // FOUND
    // MISTAKE: no __threadfence() before the ticket
    unsigned int ticket = atomicInc(&blocks_done, gridDim.x);
    last = (ticket == gridDim.x - 1);
  }
  __syncthreads();
  if (last) {
    __threadfence();
    int total = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x) total += partial[b];  // FOUND
    total = block_sum(total);
    if (threadIdx.x == 0) {
      *result = total;
      blocks_done = 0;  // ready for the next launch
    }
  }
}

static void verify(cudaError_t e, int line) {
  if (e) {
    fprintf(stderr, "%d: %s\n", line, cudaGetErrorString(e));
    exit(1);
  }
}
#define V(x) verify(x, __LINE__)

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 30000;
  int blocks = 24;
  int *in = new int[n];
  int expected = 0;
  for (int i = 0; i < n; i++) expected += in[i] = i % 17 - 3;

  int *d_in, *d_partial, *d_result;
  V(cudaMalloc(&d_in, n * sizeof(int)));
  V(cudaMalloc(&d_partial, blocks * sizeof(int)));
  V(cudaMalloc(&d_result, sizeof(int)));
  V(cudaMemcpy(d_in, in, n * sizeof(int), cudaMemcpyHostToDevice));

  bool good = true;
  for (int repeat = 0; repeat < 2; repeat++) {
    int sum = 0;
    V(cudaMemset(d_result, 0, sizeof(int)));
    sum_all<<<blocks, N_THREADS>>>(d_in, n, d_partial, d_result);
    V(cudaGetLastError());
    V(cudaMemcpy(&sum, d_result, sizeof(int), cudaMemcpyDeviceToHost));
    printf("sum %d, expected %d\n", sum, expected);
    good = good && sum == expected;
  }
  printf("%s\n", good ? "PASSED" : "FAILED");

  V(cudaFree(d_in));
  V(cudaFree(d_partial));
  V(cudaFree(d_result));
  delete[] in;
  return good ? 0 : 1;
}

// A chain of blocks: each waits for the flag of the one before it, adds, and passes the sum on.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define ASK(call)                                                                     \
  if (cudaError_t answer = (call)) {                                                  \
    std::printf("%s: %s\n", #call, cudaGetErrorString(answer));                       \
    return 1;                                                                         \
  }

// Blocks take their numbers in the order in which they start, so that none waits for a block
// that cannot start.
__global__ void chained_sum(const int *values, int *sums, int *flags, int *tickets) {
  __shared__ int number;
  __shared__ int before;
  __shared__ int part[64];
  if (threadIdx.x == 0) number = atomicAdd(tickets, 1);
  __syncthreads();
  int i = number * blockDim.x + threadIdx.x;
  part[threadIdx.x] = values[i];
  __syncthreads();

  if (threadIdx.x == 0) {
    int sum = 0;
    for (int k = 0; k < blockDim.x; k++) sum += part[k];
    before = 0;
    if (number > 0) {
      while (atomicAdd(&flags[number - 1], 0) == 0) {
      }
      __threadfence();
      before = sums[number - 1];  // FOUND
    }
    sums[number] = before + sum;  // FOUND
    // MISTAKE: no __threadfence() before the flag
    atomicExch(&flags[number], 1);
  }
}

int main(int argc, char **argv) {
  int blocks = argc > 1 ? atoi(argv[1]) : 20;
  int n = blocks * 64;
  std::vector<int> values(n), sums(blocks);
  for (int i = 0; i < n; i++) values[i] = i % 11;

  int *d_values, *d_sums, *d_flags, *d_tickets;
  ASK(cudaMalloc(&d_values, n * sizeof(int)));
  ASK(cudaMalloc(&d_sums, blocks * sizeof(int)));
  ASK(cudaMalloc(&d_flags, blocks * sizeof(int)));
  ASK(cudaMalloc(&d_tickets, sizeof(int)));
  ASK(cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  ASK(cudaMemset(d_flags, 0, blocks * sizeof(int)));
  ASK(cudaMemset(d_tickets, 0, sizeof(int)));

  chained_sum<<<blocks, 64>>>(d_values, d_sums, d_flags, d_tickets);
  ASK(cudaGetLastError());
  ASK(cudaMemcpy(sums.data(), d_sums, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  ASK(cudaFree(d_values));
  ASK(cudaFree(d_sums));
  ASK(cudaFree(d_flags));
  ASK(cudaFree(d_tickets));

  int sum = 0, wrong = 0;
  for (int i = 0; i < n; i++) {
    sum += values[i];
    if (i % 64 == 63) wrong += sums[i / 64] != sum;
  }
  std::printf("sum of all: %d\n%s\n", sums.back(), wrong ? "FAILED" : "PASSED");
  return wrong ? 1 : 0;
}

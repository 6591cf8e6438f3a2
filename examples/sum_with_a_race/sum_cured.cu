// The sum of an array: each block adds up its part in shared memory, then adds it to the total.
#include <cstdio>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t status = (call);                                           \
    if (status != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
      return 1;                                                            \
    }                                                                      \
  } while (0)

constexpr int kThreads = 256;

__global__ void sum(const float* x, float* total, int n) {
  __shared__ float part[kThreads];
  int t = threadIdx.x;
  int i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) atomicAdd(total, part[0]);
}

int main() {
  const int n = 1000;
  std::vector<float> host(n, 1.0f);
  float *x, *total, result = 0.0f;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&total, sizeof(float)));
  CHECK(cudaMemset(total, 0, sizeof(float)));
  CHECK(cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  sum<<<(n + kThreads - 1) / kThreads, kThreads>>>(x, total, n);
  CHECK(cudaMemcpy(&result, total, sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g, and %d is right\n", result, n);
  return 0;
}

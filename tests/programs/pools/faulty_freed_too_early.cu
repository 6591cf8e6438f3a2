// Memory in stream order: allocated, used and freed between kernels, from pools.
#include <cstdint>
#include <iostream>
#include <vector>

#define TRY(call)                                                                      \
  do {                                                                                 \
    if (cudaError_t status = (call); status != cudaSuccess) {                          \
      std::cerr << "line " << __LINE__ << ": " << cudaGetErrorString(status) << '\n';  \
      return 1;                                                                        \
    }                                                                                  \
  } while (0)

__global__ void make_keys(std::uint32_t* keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keys[i] = 2654435761u * (i + 1);
}

__global__ void count_bits(const std::uint32_t* keys, int n, unsigned long long* total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, (unsigned long long)__popc(keys[i]));
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::stoi(argv[1]) : 6000;
  const int rounds = 3;

  int supported = 0;
  TRY(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  if (!supported) {
    std::cout << "no memory pools\n";
    return 0;
  }
  cudaMemPool_t standard, own;
  TRY(cudaDeviceGetDefaultMemPool(&standard, 0));
  std::uint64_t keep = UINT64_MAX;
  TRY(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &keep));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  TRY(cudaMemPoolCreate(&own, &properties));

  cudaStream_t stream;
  TRY(cudaStreamCreate(&stream));
  std::vector<unsigned long long> totals(rounds, 0);
  for (int round = 0; round < rounds; ++round) {
    std::uint32_t* keys;
    unsigned long long* total;
    TRY(cudaMallocAsync(&keys, n * sizeof(std::uint32_t), stream));
    TRY(cudaMallocFromPoolAsync(&total, sizeof(unsigned long long), own, stream));
    TRY(cudaMemsetAsync(total, 0, sizeof(unsigned long long), stream));
    make_keys<<<(n + 127) / 128, 128, 0, stream>>>(keys, n);
    TRY(cudaFreeAsync(keys, stream));  // MISTAKE: the next kernel still needs them
    count_bits<<<(n + 127) / 128, 128, 0, stream>>>(keys, n, total);
    TRY(cudaGetLastError());
    TRY(cudaMemcpyAsync(&totals[round], total, sizeof(unsigned long long), cudaMemcpyDeviceToHost,
                        stream));
    TRY(cudaFreeAsync(total, stream));
  }
  TRY(cudaStreamSynchronize(stream));
  TRY(cudaStreamDestroy(stream));
  TRY(cudaMemPoolDestroy(own));

  unsigned long long expected = 0;
  for (int i = 0; i < n; ++i) expected += __builtin_popcount(2654435761u * (i + 1));
  bool good = true;
  for (unsigned long long total : totals) {
    std::cout << "bits: " << total << '\n';
    good = good && total == expected;
  }
  std::cout << (good ? "PASSED" : "FAILED") << '\n';
  return good ? 0 : 1;
}

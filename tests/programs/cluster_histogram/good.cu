// A histogram whose bins are spread over the shared memory of a cluster's blocks.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

constexpr int kCluster = 4, kBins = 1024, kBinsPerBlock = kBins / kCluster, kThreads = 128;

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const cudaError_t error = (call);                                                      \
    if (error != cudaSuccess) {                                                            \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));           \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

__global__ void histogram(const int* values, int n, int* bins) {
  __shared__ int mine[kBinsPerBlock];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < kBinsPerBlock; i += blockDim.x) mine[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int bin = values[i] % kBins;
    int* there = cluster.map_shared_rank(mine, bin / kBinsPerBlock);
    atomicAdd(there + bin % kBinsPerBlock, 1);
  }
  cluster.sync();
  const int first = cluster.block_rank() * kBinsPerBlock;
  for (int i = threadIdx.x; i < kBinsPerBlock; i += blockDim.x) {
    atomicAdd(bins + first + i, mine[i]);
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 20000;
  std::vector<int> values(n), expected(kBins), got(kBins);
  unsigned state = 12345;
  for (int& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<int>(state >> 8);
    ++expected[value % kBins];
  }
  int *d_values, *d_bins;
  CHECK(cudaMalloc(&d_values, n * sizeof(int)));
  CHECK(cudaMalloc(&d_bins, kBins * sizeof(int)));
  CHECK(cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(d_bins, 0, kBins * sizeof(int)));

  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = kCluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = kThreads;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, histogram, &config));
  std::printf("clusters at once: %s\n", clusters > 0 ? "some" : "none");
  CHECK(cudaLaunchKernelEx(&config, histogram, static_cast<const int*>(d_values), n, d_bins));
  config.gridDim = 9;
  const cudaError_t refused =
      cudaLaunchKernelEx(&config, histogram, static_cast<const int*>(d_values), n, d_bins);
  std::printf("9 blocks: %s\n", cudaGetErrorName(refused));
  cudaGetLastError();
  CHECK(cudaMemcpy(got.data(), d_bins, kBins * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(d_values));
  CHECK(cudaFree(d_bins));
  std::printf("%s\n", got == expected ? "PASSED" : "FAILED");
  return got == expected ? 0 : 1;
}

// The occupancy calls choose the block; a grid-stride loop takes whatever grid there is.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const std::string &where)
      : std::runtime_error(where + ": " + cudaGetErrorString(code)) {}
};

static void ok(cudaError_t code, const char *where) {
  if (code != cudaSuccess) throw CudaError(code, where);
}

__global__ void triangle(unsigned long long *values, int n) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += stride) {  // MISTAKE: <=
    values[i] = values[i] * (values[i] + 1) / 2;  // FOUND
  }
}

static int run(int n) {
  int block = 0, least_grid = 0, resident = 0;
  ok(cudaOccupancyMaxPotentialBlockSize(&least_grid, &block, triangle), "block size");
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, triangle, block, 0), "occupancy");
  cudaDeviceProp properties;
  ok(cudaGetDeviceProperties(&properties, 0), "properties");
  double occupancy = double(resident) * block / properties.maxThreadsPerMultiProcessor;
  printf("occupancy is %s\n", occupancy > 0.5 ? "high" : "low");

  int grid = (n + block - 1) / block;
  if (grid > 4) grid = 4;

  std::vector<unsigned long long> values(n);
  for (int i = 0; i < n; i++) values[i] = i;
  unsigned long long *d_values;
  size_t bytes = values.size() * sizeof(values[0]);
  ok(cudaMalloc(&d_values, bytes), "malloc");
  ok(cudaMemcpy(d_values, values.data(), bytes, cudaMemcpyHostToDevice), "upload");
  triangle<<<grid, block>>>(d_values, n);
  ok(cudaGetLastError(), "launch");
  ok(cudaMemcpy(values.data(), d_values, bytes, cudaMemcpyDeviceToHost), "download");
  ok(cudaFree(d_values), "free");

  for (unsigned long long i = 0; i < values.size(); i++) {
    if (values[i] != i * (i + 1) / 2) {
      printf("FAILED at %llu\n", i);
      return 1;
    }
  }
  printf("PASSED\n");
  return 0;
}

int main(int argc, char **argv) {
  try {
    return run(argc > 1 ? atoi(argv[1]) : 25000);
  } catch (const CudaError &error) {
    fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

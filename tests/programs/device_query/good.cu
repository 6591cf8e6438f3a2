// The GPU described: its properties, attributes and memory.
#include <iomanip>
#include <iostream>
#include <vector>

static const char* yes_no(int value) { return value ? "yes" : "no"; }

template <typename T>
static void line(const char* name, const T& value, const char* unit = "") {
  std::cout << "  " << std::left << std::setw(36) << name << value << ' ' << unit << '\n';
}

int main() {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    std::cout << "no CUDA device: " << cudaGetErrorString(status) << '\n';
    return 1;
  }
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::cout << "CUDA " << runtime / 1000 << ", driver "
            << (driver >= runtime ? "new enough" : "too old") << '\n';

  bool good = driver >= runtime;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp p;
    if (cudaSetDevice(device) != cudaSuccess ||
        cudaGetDeviceProperties(&p, device) != cudaSuccess) {
      std::cout << "device " << device << " does not answer\n";
      return 1;
    }
    std::cout << "device " << device << ": " << p.name << '\n';
    line("compute capability", std::to_string(p.major) + "." + std::to_string(p.minor));
    line("multiprocessors", p.multiProcessorCount);
    line("warp size", p.warpSize);
    line("threads of a block", p.maxThreadsPerBlock);
    line("threads of a multiprocessor", p.maxThreadsPerMultiProcessor);
    line("registers of a block", p.regsPerBlock);
    line("shared memory of a block", p.sharedMemPerBlock, "bytes");
    line("shared memory on request", p.sharedMemPerBlockOptin, "bytes");
    line("constant memory", p.totalConstMem, "bytes");
    line("largest block", std::to_string(p.maxThreadsDim[0]) + " x " +
                              std::to_string(p.maxThreadsDim[1]) + " x " +
                              std::to_string(p.maxThreadsDim[2]));
    line("unified addressing", yes_no(p.unifiedAddressing));
    line("managed memory", yes_no(p.managedMemory));
    line("cooperative launch", yes_no(p.cooperativeLaunch));

    size_t free_bytes = 0, total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    good = good && free_bytes <= total_bytes && total_bytes > 0;

    // Attributes say the same.
    struct Pair {
      cudaDeviceAttr attribute;
      int expected;
    };
    const std::vector<Pair> pairs = {
        {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
        {cudaDevAttrWarpSize, p.warpSize},
        {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
        {cudaDevAttrMaxSharedMemoryPerBlock, int(p.sharedMemPerBlock)},
        {cudaDevAttrComputeCapabilityMajor, p.major},
        {cudaDevAttrComputeCapabilityMinor, p.minor},
        {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
        {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
    };
    for (const Pair& pair : pairs) {
      int value = -1;
      cudaDeviceGetAttribute(&value, pair.attribute, device);
      good = good && value == pair.expected;
    }
    good = good && p.warpSize == 32 && p.maxThreadsPerBlock == 1024;
  }
  std::cout << (good ? "PASSED" : "FAILED") << std::endl;
  return good ? 0 : 1;
}

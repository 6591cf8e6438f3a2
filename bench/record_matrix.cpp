// Records what the tensor cores of a GPU compute, for tests/emulator/tensor_core_test.cpp: a line
// for each case with the hash of each block's results. bench/record_matrix.sh compiles and runs it.
//
//     record_matrix > tests/data/emulator/tensor_cores_sm_90.txt
//     record_matrix WORDS.bin > HASHES.txt
//     ncu --metrics ... record_matrix --cluster     # a launch for each of
//     support/cluster_cases.hpp
//
// WORDS.bin has for each case: the length of its name, the name, the number of words, the words.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "emulator/matrix_cases.hpp"
#include "emulator/matrix_values.hpp"
#include "support/cluster_cases.hpp"

namespace {

void* driver() {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "record_matrix: no CUDA driver\n");
    std::exit(3);
  }
  return library;
}

template <class Function>
Function* find(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(driver(), name));
}

void check(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "record_matrix: %s failed with error %d\n", what.c_str(), result);
  std::exit(1);
}
#define CALL(function, name, ...) check(find(&function, name)(__VA_ARGS__), name)

bool run(const tilescope::testing::MatrixCase& c, std::vector<std::uint32_t>& out) {
  CUmodule module;
  if (find(&cuModuleLoadData, "cuModuleLoadData")(&module, c.ptx.c_str()) != CUDA_SUCCESS) {
    std::fprintf(stderr, "record_matrix: the driver refuses %s\n", c.name.c_str());
    return false;
  }
  CUfunction kernel;
  CALL(cuModuleGetFunction, "cuModuleGetFunction", &kernel, module, "k");
  out.assign(std::size_t{c.out_words} * c.blocks, 0);
  CUdeviceptr from, to;
  CALL(cuMemAlloc, "cuMemAlloc_v2", &from, c.in.size() * 4);
  CALL(cuMemAlloc, "cuMemAlloc_v2", &to, out.size() * 4);
  CALL(cuMemcpyHtoD, "cuMemcpyHtoD_v2", from, c.in.data(), c.in.size() * 4);
  CALL(cuMemsetD32, "cuMemsetD32_v2", to, 0, out.size());
  void* arguments[] = {&from, &to};
  CALL(cuLaunchKernel, "cuLaunchKernel", kernel, c.blocks, 1, 1, c.threads, 1, 1, 0, nullptr,
       arguments, nullptr);
  check(find(&cuCtxSynchronize, "cuCtxSynchronize")(), c.name);
  CALL(cuMemcpyDtoH, "cuMemcpyDtoH_v2", out.data(), to, out.size() * 4);
  CALL(cuMemFree, "cuMemFree_v2", from);
  CALL(cuMemFree, "cuMemFree_v2", to);
  CALL(cuModuleUnload, "cuModuleUnload", module);
  return true;
}

void write(std::ofstream& file, std::uint32_t value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

int main(int count, char** arguments) {
  using namespace tilescope::testing;
  if (count > 2) {
    std::fprintf(stderr, "usage: record_matrix [WORDS.bin | --cluster]\n");
    return 2;
  }
  CALL(cuInit, "cuInit", 0);
  CUdevice device;
  CALL(cuDeviceGet, "cuDeviceGet", &device, 0);
  CUcontext context;
  CALL(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", &context, device);
  CALL(cuCtxSetCurrent, "cuCtxSetCurrent", context);
  std::ofstream file;
  const bool cluster = count == 2 && std::string(arguments[1]) == "--cluster";
  const bool words = count == 2 && !cluster;
  if (words) file.open(arguments[1], std::ios::binary);
  std::vector<std::uint32_t> out;
  std::vector<std::vector<MatrixCase>> lists;
  if (cluster) {
    lists = {cluster_cases()};
  } else {
    lists = {mma_cases(), wgmma_cases(), wgmma_layout_cases()};
  }
  for (const std::vector<MatrixCase>& cases : lists) {
    for (const MatrixCase& c : cases) {
      if (!run(c, out)) continue;
      std::printf("%s\t", c.name.c_str());
      for (unsigned block = 0; block < c.blocks; ++block) {
        const std::uint64_t hash = matrix_hash({out.data() + block * c.out_words, c.out_words});
        std::printf("%s%llx", block == 0 ? "" : " ", static_cast<unsigned long long>(hash));
      }
      std::printf("\n");
      if (!words) continue;
      write(file, static_cast<std::uint32_t>(c.name.size()));
      file << c.name;
      write(file, static_cast<std::uint32_t>(out.size()));
      file.write(reinterpret_cast<const char*>(out.data()), static_cast<long>(out.size() * 4));
    }
  }
  file.flush();
  return file.good() ? 0 : 4;
}

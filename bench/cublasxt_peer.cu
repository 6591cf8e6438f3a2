// The vendor's own product of matrices in host memory, as the peer of bench/out_of_core.sh and of
// `sharded_products --host`: cublasXt, fp32, pinned operands. Prints a line of JSON for each block
// size, in the order given; the first call of a process takes longer, so name one twice.
//
// Usage: cublasxt_peer N [--gpus COUNT] [BLOCK...]
// Build: nvcc -O3 -o cublasxt_peer cublasxt_peer.cu -lcublas
#include <cublasXt.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

namespace {

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "cublasxt_peer: %s failed\n", what);
  std::exit(1);
}

float* pinned(std::size_t count) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, count * sizeof(float)) == cudaSuccess, "cudaMallocHost");
  return static_cast<float*>(memory);
}

// Uniform in [-1, 1]; a fast generator, all cores.
void fill(float* to, std::size_t count, std::uint64_t seed) {
  const unsigned workers = std::thread::hardware_concurrency();
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < workers; ++w) {
    threads.emplace_back([=] {
      std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + w + 1;
      for (std::size_t i = count * w / workers; i < count * (w + 1) / workers; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        to[i] = static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31F;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  check(argc >= 2, "reading N");
  const std::size_t n = std::strtoull(argv[1], nullptr, 10);
  std::vector<int> blocks, devices{0};
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--gpus") {
      blocks.push_back(std::atoi(argv[i]));
      continue;
    }
    check(++i < argc && std::atoi(argv[i]) > 0, "reading --gpus");
    devices.resize(static_cast<std::size_t>(std::atoi(argv[i])));
    std::iota(devices.begin(), devices.end(), 0);
  }
  if (blocks.empty()) blocks = {4096, 8192, 16384};
  float *a = pinned(n * n), *b = pinned(n * n), *c = pinned(n * n);
  fill(a, n * n, 1);
  fill(b, n * n, 2);
  cublasXtHandle_t handle;
  check(cublasXtCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasXtCreate");
  const int count = static_cast<int>(devices.size());
  check(cublasXtDeviceSelect(handle, count, devices.data()) == CUBLAS_STATUS_SUCCESS,
        "cublasXtDeviceSelect");
  const float one = 1.0F, zero = 0.0F;
  for (const int block : blocks) {
    check(cublasXtSetBlockDim(handle, block) == CUBLAS_STATUS_SUCCESS, "cublasXtSetBlockDim");
    const auto start = std::chrono::steady_clock::now();
    check(cublasXtSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n) ==
              CUBLAS_STATUS_SUCCESS,
          "cublasXtSgemm");
    check(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("{\"peer\": \"cublasXt\", \"gpus\": %d, \"n\": %zu, \"block\": %d, "
                "\"seconds\": %.3f, \"tflops\": %.2f}\n",
                count, n, block, seconds, 2.0 * n * n * n / seconds * 1e-12);
    std::fflush(stdout);
  }
}

// Which configuration of kernels/matmul/17_warp_tiles.cu is fastest: one configuration per build.
// bench/warp_tiles_tuning.sh builds and runs many; needs nvcc, cuBLAS and a GPU.
//
// Prints: BM BN BK WM WN STAGES BLOCKS_PER_SM GROUP, then per size the kernel's median time, its
// rate, and its speed over cublasSgemm in the same run.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define ACCUMULATE 0
#include "../kernels/matmul/17_warp_tiles.cu"

#define CHECK(call)                                                                      \
  do {                                                                                   \
    const cudaError_t status = (call);                                                   \
    if (status != cudaSuccess) {                                                         \
      std::printf("%s failed: %s\n", #call, cudaGetErrorString(status));                 \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

template <typename Run>
float median_ms(const Run& run) {
  constexpr int runs = 15;
  std::vector<cudaEvent_t> events(2 * runs);
  for (cudaEvent_t& event : events) CHECK(cudaEventCreate(&event));
  run(0);
  run(1);
  for (int i = 0; i < runs; ++i) {
    CHECK(cudaEventRecord(events[2 * i]));
    run(i);
    CHECK(cudaEventRecord(events[2 * i + 1]));
  }
  CHECK(cudaDeviceSynchronize());
  std::vector<float> times(runs);
  for (int i = 0; i < runs; ++i) {
    CHECK(cudaEventElapsedTime(&times[i], events[2 * i], events[2 * i + 1]));
  }
  std::sort(times.begin(), times.end());
  return times[runs / 2];
}

int main() {
  std::printf("%3d %3d %2d %3d %3d %d %d %2d", BM, BN, BK, WM, WN, STAGES, BLOCKS_PER_SM, GROUP);
  cublasHandle_t blas;
  cublasCreate(&blas);
  const std::size_t shared = STAGES * sizeof(Tiles);
  CHECK(cudaFuncSetAttribute(matmul, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
  for (const int n : {1024, 2048, 4096, 8192}) {
    const std::size_t count = std::size_t(n) * n;
    const int sets = std::max<int>(1, int(120e6 / (12.0 * double(count))) + 1);
    std::vector<float> host(count);
    for (float& x : host) x = float(rand()) / float(RAND_MAX) * 2 - 1;
    std::vector<float*> a(sets), b(sets), c(sets);
    for (int s = 0; s < sets; ++s) {
      for (float** p : {&a[s], &b[s], &c[s]}) {
        CHECK(cudaMalloc(p, count * 4));
        CHECK(cudaMemcpy(*p, host.data(), count * 4, cudaMemcpyHostToDevice));
      }
    }
    const float one = 1, zero = 0;
    const float blas_ms = median_ms([&](int i) {
      i %= sets;
      cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b[i], n, a[i], n, &zero, c[i], n);
    });
    std::vector<float> want(count), got(count);
    CHECK(cudaMemcpy(want.data(), c[0], count * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(c[0], 0xFF, count * 4));
    const float ms = median_ms([&](int i) {
      i %= sets;
      matmul<<<(n / BM) * (n / BN), threads, shared>>>(a[i], b[i], c[i], n, n, n);
    });
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), c[0], count * 4, cudaMemcpyDeviceToHost));
    float worst = 0;
    bool nan = false;
    for (std::size_t i = 0; i < count; ++i) {
      worst = std::max(worst, std::fabs(got[i] - want[i]));
      nan = nan || std::isnan(got[i]);
    }
    const bool right = !nan && worst < 1e-5f * n;
    std::printf(" | %d: %.4f ms %5.1f TF %.3f%s", n, ms, 2e-9 * n * n * n / ms, blas_ms / ms,
                right ? "" : " WRONG");
    for (int s = 0; s < sets; ++s) {
      for (float* p : {a[s], b[s], c[s]}) CHECK(cudaFree(p));
    }
  }
  std::printf("\n");
  return 0;
}

// Copies and kernels overlap: the array goes through the GPU in chunks, on several streams.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define CUDA_TRY(expression)                                                   \
  do {                                                                         \
    const cudaError_t outcome = (expression);                                  \
    if (outcome != cudaSuccess) {                                              \
      std::fprintf(stderr, "%s: %s\n", #expression, cudaGetErrorName(outcome)); \
      std::abort();                                                            \
    }                                                                          \
  } while (false)

constexpr int kStreams = 4;
constexpr int kChunk = 2048;

__global__ void normalise(float* data, int offset, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float x = data[offset + i];
  const float s = sinf(x), c = cosf(x);
  data[offset + i] = x + sqrtf(s * s + c * c);
}

struct FreeHost {
  void operator()(void* memory) const { CUDA_TRY(cudaFreeHost(memory)); }
};
struct FreeDevice {
  void operator()(void* memory) const { CUDA_TRY(cudaFree(memory)); }
};

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 15000;

  void* memory = nullptr;
  CUDA_TRY(cudaHostAlloc(&memory, n * sizeof(float), cudaHostAllocDefault));
  std::unique_ptr<float[], FreeHost> host(static_cast<float*>(memory));
  CUDA_TRY(cudaMalloc(&memory, n * sizeof(float)));
  std::unique_ptr<float[], FreeDevice> device(static_cast<float*>(memory));
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i % 1000);

  std::array<cudaStream_t, kStreams> streams;
  for (cudaStream_t& stream : streams) CUDA_TRY(cudaStreamCreate(&stream));

  int chunks = 0;
  for (int offset = 0; offset < n; offset += kChunk, ++chunks) {
    const int count = n - offset < kChunk ? n - offset : kChunk;
    cudaStream_t stream = streams[chunks % kStreams];
    CUDA_TRY(cudaMemcpyAsync(device.get() + offset, host.get() + offset,  // FOUND
                             kChunk * sizeof(float),  // MISTAKE: the last chunk is shorter
                             cudaMemcpyHostToDevice, stream));
    normalise<<<(count + 127) / 128, 128, 0, stream>>>(device.get(), offset, count);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(host.get() + offset, device.get() + offset, count * sizeof(float),
                             cudaMemcpyDeviceToHost, stream));
  }
  for (cudaStream_t stream : streams) CUDA_TRY(cudaStreamSynchronize(stream));

  float worst = 0.0f;
  for (int i = 0; i < n; ++i) {
    worst = std::max(worst, std::fabs(host[i] - static_cast<float>(i % 1000) - 1.0f));
  }
  std::printf("%d chunks on %d streams\n", chunks, kStreams);
  std::printf("result: %s\n", worst < 1e-3f ? "PASSED" : "FAILED");

  for (cudaStream_t stream : streams) CUDA_TRY(cudaStreamDestroy(stream));
  return worst < 1e-3f ? EXIT_SUCCESS : EXIT_FAILURE;
}

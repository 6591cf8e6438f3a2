// Measures a copy and a kernel on the stream alone: a first kernel holds the stream back until the
// host has queued them all and sets a flag in mapped memory.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                       \
  do {                                                                    \
    const cudaError_t error = (call);                                     \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

__global__ void hold(volatile int* open, long long* looks) {
  long long n = 1;
  while (*open == 0) ++n;
  *looks = n;
}

__global__ void square(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= values[i];
}

int main() {
  const int n = 5000;
  volatile int* open;
  long long* looks;
  int *values, *on_device;
  CHECK(cudaHostAlloc((void**)&open, sizeof(int), cudaHostAllocMapped));
  CHECK(cudaHostAlloc((void**)&values, n * sizeof(int), cudaHostAllocDefault));
  CHECK(cudaMalloc(&looks, sizeof(long long)));
  CHECK(cudaMalloc(&on_device, n * sizeof(int)));
  for (int i = 0; i < n; ++i) values[i] = i % 100;
  *open = 0;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));

  hold<<<1, 1, 0, stream>>>(open, looks);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(start, stream));
  CHECK(cudaMemcpyAsync(on_device, values, n * sizeof(int), cudaMemcpyHostToDevice, stream));
  square<<<(n + 255) / 256, 256, 0, stream>>>(on_device, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(values, on_device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaEventRecord(stop, stream));
  *open = 1;
  values[7] = 7;  // MISTAKE: the copies may still be under way
  CHECK(cudaStreamSynchronize(stream));

  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += values[i] != (i % 100) * (i % 100);
  std::printf("%d wrong of %d\n", wrong, n);
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(looks));
  CHECK(cudaFree(on_device));
  CHECK(cudaFreeHost(values));
  CHECK(cudaFreeHost((void*)open));
  return wrong != 0 || milliseconds < 0;
}

// Two streams, one event: the second stream waits until the first one has filled the data.
#include <stdio.h>
#include <stdlib.h>

#define CUDA(call)                                                                      \
  if ((call) != cudaSuccess) {                                                          \
    fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__,                                 \
            cudaGetErrorString(cudaGetLastError()));                                    \
    exit(1);                                                                            \
  }

__global__ void fill(int *data, int n, int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = (i * 31 + seed) % 1000;
}

__global__ void square(const int *data, int *result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) result[i] = data[i] * data[i];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1 << 14;
  const size_t bytes = n * sizeof(int);

  int *pinned;
  CUDA(cudaMallocHost((void **)&pinned, bytes));
  int *data, *result;
  CUDA(cudaMalloc((void **)&data, bytes));
  CUDA(cudaMalloc((void **)&result, bytes));  // MISTAKE: never freed

  cudaStream_t producer, consumer;
  CUDA(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
  cudaEvent_t filled, start, stop;
  CUDA(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&stop));

  CUDA(cudaEventRecord(start, producer));
  fill<<<(n + 255) / 256, 256, 0, producer>>>(data, n, 17);
  CUDA(cudaGetLastError());
  CUDA(cudaEventRecord(filled, producer));
  CUDA(cudaStreamWaitEvent(consumer, filled, 0));
  square<<<(n + 255) / 256, 256, 0, consumer>>>(data, result, n);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpyAsync(pinned, result, bytes, cudaMemcpyDeviceToHost, consumer));
  CUDA(cudaEventRecord(stop, consumer));
  CUDA(cudaStreamSynchronize(consumer));

  int wrong = 0;
  long long sum = 0;
  for (int i = 0; i < n; i++) {
    int expected = (i * 31 + 17) % 1000;
    if (pinned[i] != expected * expected) wrong++;
    sum += pinned[i];
  }
  float elapsed = -1.0f;
  CUDA(cudaEventElapsedTime(&elapsed, start, stop));
  printf("sum of squares: %lld\n", sum);
  printf("took %.3f ms\n", elapsed);
  printf("%s\n", wrong || elapsed < 0.0f ? "FAILED" : "PASSED");

  CUDA(cudaEventDestroy(filled));
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(stop));
  CUDA(cudaStreamDestroy(producer));
  CUDA(cudaStreamDestroy(consumer));
  CUDA(cudaFree(data));
  CUDA(cudaFreeHost(pinned));
  return wrong ? 1 : 0;
}

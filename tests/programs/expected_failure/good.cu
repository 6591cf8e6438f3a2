// Calls that must fail, and a program that asks what went wrong and goes on.
#include <cstdio>
#include <cstring>

__global__ void touch(int *p) { p[threadIdx.x] = threadIdx.x; }

static int failures = 0;

static void expect(const char *what, cudaError_t got, cudaError_t wanted) {
  bool same = got == wanted;
  printf("%-28s %s%s\n", what, cudaGetErrorName(got), same ? "" : "  <-- unexpected");
  if (!same) failures++;
}

int main() {
  int *p = nullptr;
  expect("allocation", cudaMalloc(&p, 256 * sizeof(int)), cudaSuccess);

  // More threads than a block may have.
  touch<<<1, 4096>>>(p);
  expect("4096 threads", cudaPeekAtLastError(), cudaErrorInvalidValue);
  expect("the error again", cudaGetLastError(), cudaErrorInvalidValue);
  expect("and it is gone", cudaGetLastError(), cudaSuccess);

  // An empty grid.
  touch<<<0, 32>>>(p);
  expect("empty grid", cudaGetLastError(), cudaErrorInvalidValue);

  // Far more dynamic shared memory than there is.
  touch<<<1, 32, 1 << 20>>>(p);
  expect("1 MiB of shared memory", cudaGetLastError(), cudaErrorInvalidValue);

  // A device that does not exist.
  int devices = 0;
  expect("count devices", cudaGetDeviceCount(&devices), cudaSuccess);
  expect("device behind the last", cudaSetDevice(devices), cudaErrorInvalidDevice);
  cudaGetLastError();

  // More memory than any GPU has.
  void *huge = nullptr;
  expect("1 PiB", cudaMalloc(&huge, 1ull << 50), cudaErrorMemoryAllocation);
  cudaGetLastError();

  // None of this was fatal.
  touch<<<1, 256>>>(p);
  expect("a proper launch", cudaGetLastError(), cudaSuccess);
  expect("synchronise", cudaDeviceSynchronize(), cudaSuccess);
  int back[256];
  expect("copy", cudaMemcpy(back, p, sizeof back, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int i = 0; i < 256; i++) failures += back[i] != i;
  expect("free", cudaFree(p), cudaSuccess);
  expect("free of null", cudaFree(nullptr), cudaSuccess);

  // Half as much, until it fits.
  size_t bytes = 1ull << 45;
  while (cudaMalloc(&huge, bytes) != cudaSuccess) bytes /= 2;
  expect("free what fitted", cudaFree(huge), cudaSuccess);

  const char *text = cudaGetErrorString(cudaErrorMemoryAllocation);
  printf("\"%s\"\n", text);
  failures += strcmp(text, "out of memory") != 0;
  printf("%s\n", failures == 0 ? "PASSED" : "FAILED");
  return failures;
}

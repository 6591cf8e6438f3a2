// The host and a kernel count in the same managed memory at once. Both use atomics of system scope,
// which is what they are for.
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

__global__ void count(int* counter) {
  atomicAdd_system(counter, 1);
}

int main() {
  const int page = 4096;
  int* counter;
  CHECK(cudaMallocManaged(&counter, page));
  *counter = 0;
  count<<<8, 64>>>(counter);
  CHECK(cudaGetLastError());
  for (int i = 0; i < 100; ++i) ++*counter;  // MISTAKE: not atomic
  CHECK(cudaDeviceSynchronize());
  std::printf("counted to %d\n", *counter);
  CHECK(cudaFree(counter));
}

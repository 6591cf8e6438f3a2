// Pi by random points; every thread has a generator of its own.
#include <cmath>
#include <cstdio>
#include <cstdlib>

struct Lcg {
  unsigned long long state;
  __host__ __device__ float next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 40) * (1.0f / 16777216.0f);
  }
};

__host__ __device__ inline Lcg seeded(unsigned long long thread) {
  Lcg generator{thread * 0x9e3779b97f4a7c15ull + 1};
  for (int i = 0; i < 4; i++) generator.next();
  return generator;
}

__global__ void seed(Lcg *generators, int threads) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < threads) generators[t] = seeded(t);
}

__global__ void throw_points(Lcg *generators, int threads, int points, unsigned long long *hits) {
  __shared__ unsigned int block_hits;
  if (threadIdx.x == 0) block_hits = 0;
  __syncthreads();
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < threads) {
    Lcg generator = generators[t];
    unsigned int mine = 0;
    for (int i = 0; i < points; i++) {
      float x = generator.next(), y = generator.next();
      if (x * x + y * y < 1.0f) mine++;
    }
    generators[t] = generator;
    atomicAdd(&block_hits, mine);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(hits, (unsigned long long)block_hits);
}

int main(int argc, char **argv) {
  const int threads = 2000;
  const int points = argc > 1 ? atoi(argv[1]) : 50;

  Lcg *generators;
  unsigned long long *hits;
  if (cudaMalloc(&generators, threads * sizeof(Lcg)) != cudaSuccess ||
      cudaMalloc(&hits, sizeof(*hits)) != cudaSuccess ||
      cudaMemset(hits, 0, sizeof(*hits)) != cudaSuccess) {
    fprintf(stderr, "no memory on the GPU\n");
    return 2;
  }
  dim3 block(128), grid((threads + 127) / 128);
  seed<<<grid, block>>>(generators, threads);
  throw_points<<<grid, block>>>(generators, threads, points, hits);
  throw_points<<<grid, block>>>(generators, threads, points, hits);

  unsigned long long count = 0;
  cudaError_t err = cudaMemcpy(&count, hits, sizeof(count), cudaMemcpyDeviceToHost);
  if (err == cudaSuccess) err = cudaGetLastError();
  if (err != cudaSuccess) {
    fprintf(stderr, "%s\n", cudaGetErrorString(err));
    return 2;
  }
  cudaFree(generators);
  cudaFree(hits);

  unsigned long long expected = 0;
  for (int t = 0; t < threads; t++) {
    Lcg generator = seeded(t);
    for (int i = 0; i < 2 * points; i++) {
      float x = generator.next(), y = generator.next();
      if (x * x + y * y < 1.0f) expected++;
    }
  }
  double pi = 4.0 * count / (2.0 * threads * points);
  // The GPU may fuse a product and a sum, so a point on the circle may fall on its other side.
  bool good = std::llabs((long long)(count - expected)) <= 2 && std::fabs(pi - M_PI) < 0.05;
  printf("pi is about %.2f: %s\n", pi, good ? "PASSED" : "FAILED");
  return good ? 0 : 1;
}

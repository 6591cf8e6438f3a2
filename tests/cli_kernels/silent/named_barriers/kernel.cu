// A producer warp and a consumer warp with a pair of barriers for full and empty.
__device__ void bar_sync(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__device__ void bar_arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__global__ void pc(const int* in, int* out, int rounds) {
  __shared__ int buffer[2][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    for (int i = 0; i < rounds; ++i) {
      bar_sync(2 + (i & 1), 64);
      buffer[i & 1][lane] = in[i * 32 + lane];
      __threadfence_block();
      bar_arrive(4 + (i & 1), 64);
    }
  } else {
    bar_arrive(2, 64); bar_arrive(3, 64);
    for (int i = 0; i < rounds; ++i) {
      bar_sync(4 + (i & 1), 64);
      out[i * 32 + lane] = buffer[i & 1][31 - lane];
      if (i + 2 < rounds) bar_arrive(2 + (i & 1), 64);
    }
  }
}

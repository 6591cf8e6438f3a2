// Warps without work for a tile meet the warp that loads at its end all the same.

__global__ void twice(const int* x, const int* work, int* y, int tiles) {
  __shared__ int tile[32];
  const int lane = threadIdx.x % 32;
  const bool loads = threadIdx.x >= 32;
  for (int i = 0; i < tiles; ++i) {
    if (work[i] < 2 && !loads) {
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      continue;
    }
    if (loads && work[i] >= 2) {
      tile[lane] = x[32 * i + lane];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
    if (!loads) {
      asm volatile("bar.sync 2, 64;" ::: "memory");
      y[32 * i + lane] = 2 * tile[31 - lane];
    }
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
}

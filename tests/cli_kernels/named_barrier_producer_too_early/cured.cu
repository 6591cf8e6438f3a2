// Producers fill a buffer, consumers empty it. "Full" is announced, "empty" is not.
__global__ void pipe(const int* x, int* y, int rounds) {
  __shared__ int buffer[32];
  int lane = threadIdx.x % 32;
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x < 32) {
      buffer[lane] = x[32 * i + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      y[32 * i + lane] = buffer[31 - lane];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}

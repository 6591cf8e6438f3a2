// Producers fill two buffers before consumers have seen the first: their barrier is armed twice.
__global__ void fill(const int* x, int* y) {
  __shared__ int buffer[2][32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    buffer[0][lane] = x[lane];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    buffer[1][lane] = x[32 + lane];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[lane] = buffer[0][31 - lane];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[32 + lane] = buffer[1][31 - lane];
  }
}

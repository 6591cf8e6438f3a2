// Two warps tell each other that their halves are there: "mine is" and "yours is" are two barriers.
__global__ void halves(const int* x, int* y) {
  __shared__ int part[64];
  const int t = threadIdx.x;
  part[t] = x[t];
  if (t < 32) {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  y[t] = part[63 - t];
}

// Two groups of warps that meet need two numbers if they may meet at the same time.
__global__ void groups(const int* x, int* y) {
  __shared__ int part[160];
  const int t = threadIdx.x, warp = t / 32;
  part[t] = x[t];
  if (warp == 0 || warp == 4) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[t] = part[159 - t];
  } else {
    asm volatile("bar.sync 1, 96;" ::: "memory");
    y[t] = part[159 - t];
  }
}

// Two groups of two warps take turns. The first group's turn comes first: it arrives for itself.
// At the end one warp of all arrives like the others, and then waits for them.
__device__ void meet(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ void arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }

__global__ void turns(const int* x, int* y, int rounds) {
  __shared__ int running[64];
  const int group = threadIdx.x / 64, mine = threadIdx.x % 64;
  if (group == 0) {
    running[mine] = 0;
    arrive(1, 128);
  }
  for (int round = 0; round < rounds; ++round) {
    meet(1 + group, 128);
    running[mine] = running[mine] * 3 + x[(2 * round + group) * 64 + mine];
    if (round + 1 < rounds || group == 0) arrive(1 + (group ^ 1), 128);
  }
  arrive(3, 160);
  if (threadIdx.x / 32 == 3) {
    meet(3, 160);
    y[threadIdx.x % 32] = running[threadIdx.x % 32] + running[threadIdx.x % 32 + 32];
  }
}

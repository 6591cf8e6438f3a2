// The first warp leads and the others follow: they meet at barrier 1, each role at places of its own,
// as compilers write kernels whose warps have roles.
#define MEET asm volatile("barrier.sync 1;" ::: "memory")

__global__ void follow(const int* x, int* y) {
  __shared__ int number;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) number = x[0];
    MEET;
    y[threadIdx.x] = 0;
    MEET;
  } else {
    MEET;
    y[threadIdx.x] = number;
    MEET;
  }
}

// A parity tells a phase from the one before, not from the one before that: who waits for the first
// phase has to do so before the second one ends.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void two_steps(const int* x, int* y) {
  __shared__ int part[2][32];
  __shared__ alignas(8) unsigned long long done[2];
  if (threadIdx.x < 2) ptx::mbarrier_init(&done[threadIdx.x], 32);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x >= 32) {
    for (int step = 0; step < 2; ++step) {
      part[step][lane] = x[32 * step + lane];
      ptx::mbarrier_arrive(&done[step]);
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int step = 0; step < 2; ++step) {
      while (!ptx::mbarrier_try_wait_parity(&done[step], 0)) {}
      y[32 * step + lane] = part[step][31 - lane];
    }
  }
}

// All lanes of a warp give the mbarriers their counts, the same ones: no lane is chosen for it.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void relay(const int* x, int* y, int rounds) {
  __shared__ alignas(8) unsigned long long full, empty;
  __shared__ int cell[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (warp == 1) {
    ptx::mbarrier_init(&full, 32);
    ptx::mbarrier_init(&empty, 32);
  }
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    if (warp == 1) {
      while (!ptx::mbarrier_try_wait_parity(&empty, (i & 1) ^ 1)) {}
      cell[lane] = x[32 * i + lane];
      ptx::mbarrier_arrive(&full);
    } else {
      while (!ptx::mbarrier_try_wait_parity(&full, i & 1)) {}
      sum += cell[31 - lane] * (i + 1);
      ptx::mbarrier_arrive(&empty);
    }
  }
  if (warp == 0) y[lane] = sum;
}

// A block works on one list after the other, and each step waits for the next phase: the last step
// of a list too, where nothing is left to start.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void lists(const int* x, int* y, int lists, int steps) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) unsigned long long full, empty;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_init(&empty, 64);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x >= 64) {
    for (int i = 0; threadIdx.x == 64 && i < lists * steps; ++i) {
      while (!ptx::mbarrier_try_wait_parity(&empty, (i & 1) ^ 1)) {}
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                     sizeof tile);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x + 64 * i, sizeof tile,
                         &full);
    }
    return;
  }
  int phase = 0;
  for (int list = 0; list < lists; ++list) {
    int sum = 0;
    for (int step = 0; step + 1 < steps; ++step) {
      while (!ptx::mbarrier_try_wait_parity(&full, phase)) {}
      phase ^= 1;
      sum += tile[threadIdx.x];
      ptx::mbarrier_arrive(&empty);
    }
    while (!ptx::mbarrier_try_wait_parity(&full, phase)) {}
    y[64 * list + threadIdx.x] = sum + tile[threadIdx.x];
    ptx::mbarrier_arrive(&empty);
  }
}

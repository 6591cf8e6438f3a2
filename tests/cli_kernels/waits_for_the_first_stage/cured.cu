// A consumer follows the stages around the ring, and its wait has to follow them too.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int kStages = 4;

__global__ void sums(const int* x, int* y, int tiles) {
  __shared__ alignas(128) int tile[kStages][64];
  __shared__ alignas(8) unsigned long long full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 64);
    }
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x >= 64) {
    for (int i = 0; threadIdx.x == 64 && i < tiles; ++i) {
      const int s = i % kStages;
      while (!ptx::mbarrier_try_wait_parity(&empty[s], (i / kStages & 1) ^ 1)) {}
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s],
                                     sizeof tile[s]);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[s], x + 64 * i, sizeof tile[s],
                         &full[s]);
    }
    return;
  }
  int sum = 0;
  unsigned long long* ready = &full[0];
  for (int i = 0; i < tiles; ++i) {
    const int s = i % kStages;
    ready = &full[s];
    while (!ptx::mbarrier_try_wait_parity(ready, i / kStages & 1)) {}
    sum += tile[s][threadIdx.x];
    ptx::mbarrier_arrive(&empty[s]);
  }
  y[threadIdx.x] = sum;
}

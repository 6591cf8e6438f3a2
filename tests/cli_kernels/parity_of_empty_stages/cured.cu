// The producer finds all stages empty: it begins with the parity of the phase before the first.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void stream(const int* x, int* y, int tiles) {
  constexpr int kStages = 2;
  __shared__ alignas(128) int tile[kStages][32];
  __shared__ alignas(8) unsigned long long full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(&full[stage], 1);
      ptx::mbarrier_init(&empty[stage], 32);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  for (int i = 0; i < tiles; ++i) {
    const int stage = i % kStages, round = i / kStages;
    if (threadIdx.x >= 32) {  // the producer
      if (threadIdx.x == 32) {
        while (!ptx::mbarrier_try_wait_parity(&empty[stage], (round & 1) ^ 1)) {}
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                       &full[stage], sizeof tile[stage]);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[stage], x + 32 * i,
                           sizeof tile[stage], &full[stage]);
      }
    } else {
      while (!ptx::mbarrier_try_wait_parity(&full[stage], round & 1)) {}
      y[32 * i + threadIdx.x] = tile[stage][31 - threadIdx.x];
      ptx::mbarrier_arrive(&empty[stage]);
    }
  }
}

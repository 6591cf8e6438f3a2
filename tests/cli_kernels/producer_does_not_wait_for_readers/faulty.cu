// The producer of a ring waits until the readers have given the stage back.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int kStages = 2, kTiles = 8;
__global__ void stream(const int* x, int* y) {
  __shared__ alignas(128) int tile[kStages][32];
  __shared__ alignas(8) unsigned long long full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 32);
    }
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    for (int i = 0; i < kTiles; ++i) {
      const int stage = i % kStages, round = i / kStages;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                     &full[stage], sizeof tile[0]);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[stage], x + 32 * i,
                         sizeof tile[0], &full[stage]);
    }
  } else if (threadIdx.x < 32) {
    for (int i = 0; i < kTiles; ++i) {
      const int stage = i % kStages, round = i / kStages;
      while (!ptx::mbarrier_try_wait_parity(&full[stage], round & 1)) {}
      y[32 * i + threadIdx.x] = tile[stage][31 - threadIdx.x];
      ptx::mbarrier_arrive(&empty[stage]);
    }
  }
}

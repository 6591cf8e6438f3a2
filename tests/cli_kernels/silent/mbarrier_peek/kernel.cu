// Asks for each stage once ahead of its use, and waits only if the answer was no; meanwhile a warp
// counts how often it asks in vain.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int kStages = 2;

__device__ void load(int* tile, const int* from, unsigned long long* full) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, full, 256);
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, from, 256, full);
}

__global__ void sums(const int* x, int* y, int* asked, int tiles) {
  __shared__ alignas(128) int tile[kStages][64];
  __shared__ alignas(8) unsigned long long full[kStages], last;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) ptx::mbarrier_init(&full[s], 1);
    ptx::mbarrier_init(&last, 32);
    ptx::fence_proxy_async(ptx::space_shared);
    for (int s = 0; s < kStages; ++s) load(tile[s], x + 64 * s, &full[s]);
  }
  __syncthreads();
  int sum = 0;
  bool ready = ptx::mbarrier_try_wait_parity(&full[0], 0);
  for (int i = 0; i < tiles; ++i) {
    const int stage = i % kStages, next = (i + 1) % kStages;
    if (!ready) {
      while (!ptx::mbarrier_try_wait_parity(&full[stage], i / kStages & 1)) {}
    }
    ready = i + 1 < tiles && ptx::mbarrier_try_wait_parity(&full[next], (i + 1) / kStages & 1);
    sum += tile[stage][threadIdx.x] * tile[stage][63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0 && i + kStages < tiles) {
      load(tile[stage], x + 64 * (i + kStages), &full[stage]);
    }
  }
  y[threadIdx.x] = sum;
  if (threadIdx.x < 32) {
    ptx::mbarrier_arrive(&last);
    return;
  }
  unsigned attempts = 0;
  while (!ptx::mbarrier_test_wait_parity(&last, 0)) ++attempts;
  asked[threadIdx.x - 32] = attempts >= 0;
}

// The last round fetches a tile that nobody waits for.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void stream(const int* x, int* y) {
  __shared__ alignas(128) int tile[2][64];
  __shared__ alignas(8) unsigned long long full[2];
  const auto fetch = [&](int i) {
    if (threadIdx.x != 0) return;
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                   &full[i % 2], sizeof tile[0]);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[i % 2], x + 64 * (i % 4),
                       sizeof tile[0], &full[i % 2]);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full[0], 1);
    ptx::mbarrier_init(&full[1], 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  fetch(0);
  for (int i = 0; i < 4; ++i) {
    fetch(i + 1);
    while (!ptx::mbarrier_try_wait_parity(&full[i % 2], i / 2 & 1)) {}
    y[64 * i + threadIdx.x] = tile[i % 2][63 - threadIdx.x];
    __syncthreads();
  }
}

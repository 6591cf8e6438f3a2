// A tile holds a result for the store and then the next input: the producer loads into it when the
// store has read it, whatever stage of the ring comes then.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int kStages = 2;

__global__ void twice(const int* x, int* y, int tasks, int steps) {
  __shared__ alignas(128) int tile[kStages][32];
  __shared__ alignas(8) unsigned long long full[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) ptx::mbarrier_init(&full[s], 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncwarp();
  int loaded = 0;
  for (int task = 0; task < tasks; ++task) {
    int sum = 0;
    for (int step = 0; step < steps; ++step, ++loaded) {
      const int s = loaded % kStages;
      if (threadIdx.x == 0) {
        if (step == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                       &full[s], sizeof tile[s]);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[s], x + 32 * loaded,
                           sizeof tile[s], &full[s]);
      }
      while (!ptx::mbarrier_try_wait_parity(&full[s], loaded / kStages & 1)) {}
      sum += tile[s][threadIdx.x];
      __syncwarp();
    }
    int* const result = tile[(loaded - 1) % kStages];
    result[threadIdx.x] = 2 * sum;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncwarp();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + 32 * task, result,
                         sizeof tile[0]);
      ptx::cp_async_bulk_commit_group();
    }
  }
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

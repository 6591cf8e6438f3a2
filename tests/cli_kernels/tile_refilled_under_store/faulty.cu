// A warpgroup stages one result after the other in the same memory. One thread waits until the
// store has read it, and the others must hear of that before they write the next result.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void results(const int* x, int* y, int tiles) {
  __shared__ alignas(128) int staged[128];
  for (int i = 0; i < tiles; ++i) {
    staged[threadIdx.x] = 3 * x[128 * i + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    asm volatile("bar.sync 5, 128;" ::: "memory");
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + 128 * i, staged, sizeof staged);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
  }
}

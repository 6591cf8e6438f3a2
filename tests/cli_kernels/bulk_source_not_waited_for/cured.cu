// The tile may be written again when the copy engine has read it.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void twice(const int* x, int* y) {
  __shared__ alignas(128) int tile[64];
  for (int i = 0; i < 4; ++i) {
    tile[threadIdx.x] = 2 * x[64 * i + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + 64 * i, tile, 256);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

// wait_group.read says that the source has been read, not that the destination has been written.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void double_reversed(const int* x, int* scratch, int* y) {
  __shared__ alignas(128) int tile[64];
  int* const own = scratch + 64 * blockIdx.x;
  tile[threadIdx.x] = 2 * x[64 * blockIdx.x + threadIdx.x];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, own, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
  __syncthreads();
  y[64 * blockIdx.x + threadIdx.x] = own[63 - threadIdx.x];
}

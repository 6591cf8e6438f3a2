// The copy engine does not see what threads wrote until a fence of its proxy stands behind it.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void twice(const int* x, int* y) {
  __shared__ alignas(128) int tile[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = 2 * x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// Sums of rows of any length, also of none: then only zeros were written to what the copy engine
// stores, and these need a fence too.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void row_sums(const float* x, const int* rows, float* y) {
  __shared__ alignas(128) float state[64];
  state[threadIdx.x] = 0;
  ptx::fence_proxy_async(ptx::space_shared);
  for (int t = 0; t < rows[blockIdx.x]; ++t) {
    state[threadIdx.x] += x[64 * t + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + 64 * blockIdx.x, state, 256);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// A bulk load of what a bulk store writes: both are engines, and the wait between them is missing.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void through_memory(const int* x, int* scratch, int* y) {
  __shared__ alignas(128) int out[64], in[64];
  __shared__ alignas(8) unsigned long long full;
  int* const own = scratch + 64 * blockIdx.x;
  out[threadIdx.x] = 3 * x[64 * blockIdx.x + threadIdx.x];
  if (threadIdx.x == 0) ptx::mbarrier_init(&full, 1);
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, own, out, sizeof out);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof in);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, in, own, sizeof in, &full);
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  y[64 * blockIdx.x + threadIdx.x] = in[63 - threadIdx.x];
}

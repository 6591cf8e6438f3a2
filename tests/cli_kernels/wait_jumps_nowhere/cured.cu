// A wait whose jump back to the question is missing: the answer makes no difference.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__device__ void wait(unsigned long long* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@over bra through;\n"
      "bra again;\n"
      "through:\n"
      "}" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))),
      "r"(parity)
      : "memory");
}

__global__ void reverse(const int* x, int* y, int rounds) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof tile);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x, sizeof tile, &full);
  }
  __syncthreads();
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x == 0 && i > 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                     sizeof tile);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x + 64 * i, sizeof tile,
                         &full);
    }
    wait(&full, i & 1);
    y[64 * i + threadIdx.x] = tile[63 - threadIdx.x];
    __syncthreads();
  }
}

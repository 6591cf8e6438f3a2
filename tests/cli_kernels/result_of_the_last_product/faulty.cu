// The largest sum of each step is kept for the next one. A commit does not end the products: the
// step has to wait for them first.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

namespace {
__device__ unsigned long long descriptor(const void* tile) {
  const auto address = static_cast<unsigned long long>(__cvta_generic_to_shared(tile));
  return address >> 4 | 8ull << 16 | 16ull << 32;
}
__device__ void multiply(float (&d)[4], const void* a, const void* b) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, add, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(descriptor(a)), "l"(descriptor(b))
      : "memory");
}
}  // namespace

__global__ void largest(const uint4* x, const uint4* w, float* y, int steps) {
  __shared__ alignas(128) uint4 a[128], b[16];
  float most = 0;
  for (int i = 0; i < steps; ++i) {
    a[threadIdx.x] = x[128 * i + threadIdx.x];
    if (threadIdx.x < 16) b[threadIdx.x] = w[16 * i + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply(d, a, b);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    for (int r = 0; r < 4; ++r) most = fmaxf(most, d[r]);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  y[threadIdx.x] = most;
}

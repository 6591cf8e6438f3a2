// A product stays under way while the next tiles come: then A and B both need memory for two.
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

constexpr int kTilesOfB = 2;

__global__ void product(const uint4* x, const uint4* w, float* y, int parts) {
  __shared__ alignas(128) uint4 a[2][128], b[kTilesOfB][16];
  float d[4] = {};
  for (int i = 0; i < parts; ++i) {
    a[i % 2][threadIdx.x] = x[128 * i + threadIdx.x];
    if (threadIdx.x < 16) b[i % kTilesOfB][threadIdx.x] = w[16 * i + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply(d, a[i % 2], b[i % kTilesOfB]);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    __syncthreads();
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = d[i];
}

// A product takes A from registers, and the next part of A comes into the same ones: the product
// has to be over before.

namespace {
__device__ unsigned long long descriptor(const void* tile) {
  const auto address = static_cast<unsigned long long>(__cvta_generic_to_shared(tile));
  return address >> 4 | 8ull << 16 | 16ull << 32;
}
}  // namespace

__global__ void product(const unsigned* x, const uint4* w, float* y, int parts) {
  __shared__ alignas(128) uint4 b[16];
  if (threadIdx.x < 16) b[threadIdx.x] = w[threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  unsigned a[4];
  for (int i = 0; i < parts; ++i) {
    for (int r = 0; r < 4; ++r) {
      asm volatile("ld.global.u32 %0, [%1];"
                   : "=r"(a[r])
                   : "l"(x + (4 * i + r) * 128 + threadIdx.x)
                   : "memory");
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "%8, add, 1, 1, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+r"(a[0]), "+r"(a[1]), "+r"(a[2]),
          "+r"(a[3])
        : "l"(descriptor(b))
        : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = d[i];
}

// A product is the work of four warps at once: none is over before all have begun it.

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

__global__ void product(const uint4* x, const uint4* w, float* y) {
  __shared__ alignas(128) uint4 a[128], b[16];
  a[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 16) b[threadIdx.x] = w[threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  multiply(d, a, b);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = d[i];
}

// wgmma is one instruction of four warps: none may stay away, even if its rows are not wanted.
#include <cuda_fp16.h>

__device__ unsigned long long descriptor(const void* tile) {
  const unsigned long long start = __cvta_generic_to_shared(tile) >> 4;
  return start | 128ull >> 4 << 16 | 256ull >> 4 << 32;  // K-major, groups of 8 rows 256 bytes apart
}

__global__ void square(const __half* x, float* y, int rows) {
  __shared__ alignas(128) __half tile[64 * 16];
  for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) tile[i] = x[i];
  asm volatile("fence.proxy.async;");
  __syncthreads();
  float sum[4] = {};
  if (threadIdx.x / 32 * 16 < rows) {
    const unsigned long long a = descriptor(tile);
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile(
        "{ .reg .pred adds; setp.ne.u32 adds, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, adds, 1, 1, 0, "
        "0; }"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "l"(a));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  }
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = sum[i];
}

// Parts of a swizzled tile begin with a group of eight rows.
#include <cuda_fp16.h>

__device__ unsigned long long descriptor(const void* tile) {
  const unsigned long long start = __cvta_generic_to_shared(tile) >> 4 & 0x3fff;
  return start | 1ull << 16 | 1024ull >> 4 << 32 | 1ull << 62;  // K-major, rows of 128 bytes
}

// The place of an element of a row of 64 in a tile that is swizzled by 128 bytes.
__device__ int swizzled(int row, int column) {
  return row * 64 + ((column / 8 ^ row % 8) * 8 | column % 8);
}

__global__ void square(const __half* x, float* y) {
  __shared__ alignas(1024) __half tile[128 * 64];
  for (int i = 64 * 64 + threadIdx.x; i < 128 * 64; i += blockDim.x) tile[i] = __half(0);
  for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) {
    tile[swizzled(i / 64, i % 64)] = x[i];
  }
  asm volatile("fence.proxy.async;");
  __syncthreads();
  float sum[4] = {};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "{ .reg .pred adds; setp.ne.u32 adds, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, adds, 1, 1, 0, "
      "0; }"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "l"(descriptor(tile + 8 * 64)), "l"(descriptor(tile)));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = sum[i];
}

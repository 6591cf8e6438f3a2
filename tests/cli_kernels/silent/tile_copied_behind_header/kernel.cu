// A tile with a swizzle of 128 bytes that begins anywhere, as libraries lay them behind their
// barriers: the copy and the product take the pattern from the address, so they agree.
#include <cuda_fp16.h>

#include <cuda/ptx>
namespace ptx = cuda::ptx;

struct alignas(128) Map {
  unsigned words[32];
};

/// A map of 64 x 64 halves, all of them in a box.
__device__ void describe(Map* map, const __half* x) {
  ptx::tensormap_replace_global_address(ptx::space_shared, map, x);
  ptx::tensormap_replace_rank(ptx::space_shared, map, 1);
  ptx::tensormap_replace_box_dim(ptx::space_shared, map, ptx::n32_t<0>(), 64);
  ptx::tensormap_replace_box_dim(ptx::space_shared, map, ptx::n32_t<1>(), 64);
  ptx::tensormap_replace_global_dim(ptx::space_shared, map, ptx::n32_t<0>(), 64);
  ptx::tensormap_replace_global_dim(ptx::space_shared, map, ptx::n32_t<1>(), 64);
  ptx::tensormap_replace_global_stride(ptx::space_shared, map, ptx::n32_t<0>(), 128ull);
  ptx::tensormap_replace_element_size(ptx::space_shared, map, ptx::n32_t<0>(), 1);
  ptx::tensormap_replace_element_size(ptx::space_shared, map, ptx::n32_t<1>(), 1);
  ptx::tensormap_replace_elemtype(ptx::space_shared, map, ptx::n32_t<6>());
  ptx::tensormap_replace_interleave_layout(ptx::space_shared, map, ptx::n32_t<0>());
  ptx::tensormap_replace_swizzle_mode(ptx::space_shared, map, ptx::n32_t<3>());
  ptx::tensormap_replace_fill_mode(ptx::space_shared, map, ptx::n32_t<0>());
}

__device__ unsigned long long descriptor(const void* tile) {
  const unsigned long long start = __cvta_generic_to_shared(tile) >> 4 & 0x3fff;
  return start | 1ull << 16 | 1024ull >> 4 << 32 | 1ull << 62;  // K-major, rows of 128 bytes
}

__global__ void square(Map* global_map, const __half* x, float* y) {
  __shared__ alignas(1024) __half all[64 * 64 + 3 * 64];
  __shared__ Map map;
  __shared__ alignas(8) unsigned long long full;
  __half* const tile = all + 3 * 64;
  if (threadIdx.x < 32) {
    map.words[threadIdx.x] = 0;
    __syncwarp();
    if (threadIdx.x == 0) {
      describe(&map, x);
      ptx::mbarrier_init(&full, 1);
      ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncwarp();
    global_map->words[threadIdx.x] = map.words[threadIdx.x];
    ptx::fence_proxy_tensormap_generic(ptx::sem_release, ptx::scope_gpu);
    __syncwarp();
    ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, global_map,
                                       ptx::n32_t<128>());
    __syncwarp();
    if (threadIdx.x == 0) {
      const int at[] = {0, 0};
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                     64 * 64 * sizeof(__half));
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, global_map, at, &full);
    }
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
  }
  float sum[4] = {};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "{ .reg .pred adds; setp.ne.u32 adds, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, adds, 1, 1, 0, "
      "0; }"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "l"(descriptor(tile)), "l"(descriptor(tile)));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = sum[i];
}

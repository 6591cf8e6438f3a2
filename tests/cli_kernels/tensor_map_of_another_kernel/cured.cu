// A tensor map that another kernel has made: stream order shows it to threads, not to copies.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

struct alignas(128) Map {
  unsigned words[32];
};

/// A map of n numbers, 32 of them in a box.
__device__ void describe(Map* map, const int* x, int n) {
  ptx::tensormap_replace_global_address(ptx::space_shared, map, x);
  ptx::tensormap_replace_rank(ptx::space_shared, map, 0);
  ptx::tensormap_replace_box_dim(ptx::space_shared, map, ptx::n32_t<0>(), 32);
  ptx::tensormap_replace_global_dim(ptx::space_shared, map, ptx::n32_t<0>(), n);
  ptx::tensormap_replace_element_size(ptx::space_shared, map, ptx::n32_t<0>(), 1);
  ptx::tensormap_replace_elemtype(ptx::space_shared, map, ptx::n32_t<3>());
  ptx::tensormap_replace_interleave_layout(ptx::space_shared, map, ptx::n32_t<0>());
  ptx::tensormap_replace_swizzle_mode(ptx::space_shared, map, ptx::n32_t<0>());
  ptx::tensormap_replace_fill_mode(ptx::space_shared, map, ptx::n32_t<0>());
}

__global__ void make_map(Map* made, const int* x, int n) {
  __shared__ Map map;
  map.words[threadIdx.x] = 0;
  __syncwarp();
  if (threadIdx.x == 0) describe(&map, x, n);
  __syncwarp();
  ptx::tensormap_cp_fenceproxy(ptx::sem_release, ptx::scope_gpu, made, &map, ptx::n32_t<128>());
}

__global__ void read_box(const Map* made, int* y) {
  __shared__ alignas(128) int tile[32];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, made,
                                       ptx::n32_t<128>());
    const int at[] = {32 * static_cast<int>(blockIdx.x)};
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                   sizeof tile);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, made, at, &full);
  }
  __syncwarp();
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  y[32 * blockIdx.x + threadIdx.x] = tile[31 - threadIdx.x];
}

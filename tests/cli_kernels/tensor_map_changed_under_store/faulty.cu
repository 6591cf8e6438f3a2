// Results of several groups go to their tensors by one map: each store has to end before the map
// describes the next group's tensor.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

struct alignas(128) Map {
  unsigned words[32];
};

/// A map of n numbers, 32 of them in a box.
__device__ void describe(Map* map, const int* y, int n) {
  ptx::tensormap_replace_global_address(ptx::space_shared, map, y);
  ptx::tensormap_replace_rank(ptx::space_shared, map, 0);
  ptx::tensormap_replace_box_dim(ptx::space_shared, map, ptx::n32_t<0>(), 32);
  ptx::tensormap_replace_global_dim(ptx::space_shared, map, ptx::n32_t<0>(), n);
  ptx::tensormap_replace_element_size(ptx::space_shared, map, ptx::n32_t<0>(), 1);
  ptx::tensormap_replace_elemtype(ptx::space_shared, map, ptx::n32_t<3>());
  ptx::tensormap_replace_interleave_layout(ptx::space_shared, map, ptx::n32_t<0>());
  ptx::tensormap_replace_swizzle_mode(ptx::space_shared, map, ptx::n32_t<0>());
  ptx::tensormap_replace_fill_mode(ptx::space_shared, map, ptx::n32_t<0>());
}

__global__ void results(Map* own, const int* x, int* y, int groups) {
  __shared__ alignas(128) int tile[4][32];
  __shared__ Map map;
  map.words[threadIdx.x] = 0;
  __syncwarp();
  if (threadIdx.x == 0) describe(&map, y, 32);
  for (int i = 0; i < groups; ++i) {
    if (threadIdx.x == 0) {
      ptx::tensormap_replace_global_address(ptx::space_shared, &map, y + 32 * i);
    }
    __syncwarp();
    ptx::tensormap_cp_fenceproxy(ptx::sem_release, ptx::scope_gpu, own, &map, ptx::n32_t<128>());
    ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, own, ptx::n32_t<128>());
    tile[i][threadIdx.x] = 5 * x[32 * i + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncwarp();
    if (threadIdx.x == 0) {
      const int at[] = {0};
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, own, at, tile[i]);
      ptx::cp_async_bulk_commit_group();
    }
    __syncwarp();
  }
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

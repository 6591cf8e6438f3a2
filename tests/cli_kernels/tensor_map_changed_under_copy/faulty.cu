// A tensor map describes one tensor after the other: each copy has to end before the next change.
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

__global__ void sum_of_tensors(Map* own, const int* x, int* y, int tensors) {
  __shared__ alignas(128) int tile[8][32];
  __shared__ Map map;
  __shared__ alignas(8) unsigned long long full[8];
  map.words[threadIdx.x] = 0;
  __syncwarp();
  if (threadIdx.x == 0) {
    describe(&map, x, 32);
    for (int i = 0; i < tensors; ++i) ptx::mbarrier_init(&full[i], 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  int sum = 0;
  for (int i = 0; i < tensors; ++i) {
    if (threadIdx.x == 0) {
      ptx::tensormap_replace_global_address(ptx::space_shared, &map, x + 32 * i);
    }
    __syncwarp();
    ptx::tensormap_cp_fenceproxy(ptx::sem_release, ptx::scope_gpu, own, &map, ptx::n32_t<128>());
    ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, own, ptx::n32_t<128>());
    if (threadIdx.x == 0) {
      const int at[] = {0};
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[i],
                                     sizeof tile[i]);
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile[i], own, at, &full[i]);
    }
    __syncwarp();
  }
  for (int i = 0; i < tensors; ++i) {
    while (!ptx::mbarrier_try_wait_parity(&full[i], 0)) {}
    sum += tile[i][threadIdx.x];
  }
  y[threadIdx.x] = sum;
}

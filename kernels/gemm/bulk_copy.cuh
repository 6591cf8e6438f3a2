// Copies of boxes between matrices in global memory and shared memory by the tensor memory
// accelerator: one thread starts them, and a barrier or a group completes with them.
#pragma once

#include "barrier.cuh"

struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

__device__ inline void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Loads the box at (x, y, z) to `to`; `barrier` counts its bytes.
__device__ inline void load_box(void* to, const TensorMap& map, Barrier& barrier, int x, int y,
                                int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

// The same to the same place of every block of the cluster whose bit is set in `blocks`, where the
// barrier of the same place counts its bytes.
__device__ inline void load_box_to_all(void* to, const TensorMap& map, Barrier& barrier, int x,
                                       int y, int z, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z), "h"(blocks)
      : "memory");
}

// With `leaves_first` what is stored leaves the L2 cache before what others read there.
template <bool leaves_first = false>
__device__ inline void store_box(const TensorMap& map, const void* from, int x, int y, int z) {
  if (leaves_first) {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint"
        " [%0, {%2, %3, %4}], [%1], %5;" ::"l"(&map),
        "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "l"(policy)
        : "memory");
    return;
  }
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
          &map),
      "r"(shared_address(from)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ inline void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until at most PENDING of this thread's groups of stores still read shared memory.
template <int PENDING>
__device__ inline void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Makes ordinary stores to shared memory visible to the copy engine and the tensor cores.
__device__ inline void publish_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

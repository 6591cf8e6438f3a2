// Copies from global to shared memory past the registers (cp.async), in groups that end in order.
#pragma once

#include "barrier.cuh"

// `size` bytes, of which `bytes` are read and the rest is zero. Both addresses are multiples of
// `size`: 4, 8 or 16.
template <int size>
__device__ inline void copy_async(unsigned to_shared, const void* from_global, int bytes) {
  if (size == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_shared),
                 "l"(from_global), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to_shared),
                 "l"(from_global), "n"(size), "r"(bytes)
                 : "memory");
  }
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `pending` groups, the youngest, are under way.
template <int pending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Copies from global to shared memory past the registers (cp.async), in groups that end in order.
#pragma once

#include "barrier.cuh"

// `size` bytes, 4, 8 or 16, which both addresses are multiples of; zeros, and nothing is read,
// unless `exists`. Before sm_80 there are no such copies: they pass through registers at once.
template <int size>
__device__ inline void copy_async(unsigned to_shared, const void* from_global, bool exists) {
  static_assert(size == 4 || size == 8 || size == 16, "sizes of cp.async");
#if __CUDA_ARCH__ >= 800
  if (size == 16) {
    asm volatile(
        "{\n"
        ".reg .pred absent;\n"
        "setp.eq.u32 absent, %2, 0;\n"
        "cp.async.cg.shared.global [%0], [%1], 16, absent;\n"
        "}" ::"r"(to_shared),
        "l"(from_global), "r"(static_cast<unsigned>(exists))
        : "memory");
  } else {
    asm volatile(
        "{\n"
        ".reg .pred absent;\n"
        "setp.eq.u32 absent, %2, 0;\n"
        "cp.async.ca.shared.global [%0], [%1], %3, absent;\n"
        "}" ::"r"(to_shared),
        "l"(from_global), "r"(static_cast<unsigned>(exists)), "n"(size)
        : "memory");
  }
#else
#pragma unroll
  for (int byte = 0; byte < size; byte += 4) {
    const auto* const word =
        reinterpret_cast<const unsigned*>(static_cast<const char*>(from_global) + byte);
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to_shared + byte), "r"(exists ? *word : 0U)
                 : "memory");
  }
#endif
}

// 16 bytes, of which the first `bytes` are read and the rest is zero.
__device__ inline void copy_async_partly(unsigned to_shared, const void* from_global, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_shared), "l"(from_global),
               "r"(bytes)
               : "memory");
}

// Before sm_80 there is nothing to wait for.
__device__ inline void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `pending` groups, the youngest, are under way.
template <int pending>
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

// cp.async (sm_80 and newer): copies from global to shared memory that pass no register and that a
// thread does not wait for until it says so. PTX ISA, "Data Movement and Conversion Instructions:
// Asynchronous copy".
#pragma once

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes, past L1: each tile is read once by each block. Both addresses 16-byte aligned.
__device__ inline void copy_16_bytes(void* to_shared, const void* from_global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to_shared)),
               "l"(from_global)
               : "memory");
}

// Copies one float, so that a warp can scatter (transpose) what it reads.
__device__ inline void copy_4_bytes(void* to_shared, const void* from_global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to_shared)),
               "l"(from_global)
               : "memory");
}

// Closes the group of all copies this thread has issued since the last call.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `pending` of this thread's groups are unfinished.
template <int pending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

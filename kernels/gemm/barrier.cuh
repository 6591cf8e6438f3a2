// Barriers in shared memory that count arrivals and bytes (mbarrier), for pipelines of copies.
#pragma once

using Barrier = unsigned long long;

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void initialise(Barrier& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(arrivals));
}

// Makes initialised barriers visible to the copy engine and to the other blocks of a cluster.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
               : "memory");
}

// Arrives at the same barrier of block `rank` of the cluster. It orders this block's accesses
// alone: what the barrier guards was read, not written, so the other block needs no more; a release
// for the whole cluster would wait for all of this thread's memory traffic.
__device__ inline void arrive_at(Barrier& barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(rank)
      : "memory");
}

// Arrives, and announces that copies will deliver `bytes` before the phase is complete.
__device__ inline void arrive_expecting(Barrier& barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}

// Waits until the phase of this parity is complete.
__device__ inline void wait(Barrier& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni through;\n"
      "bra.uni again;\n"
      "through:\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// True in one thread of a warp whose 32 threads all call it. The compiler knows that: copies
// that only this thread starts need no loop over the threads that might start them, as they do where
// a thread is chosen by its number (65 cycles a copy instead of 16).
__device__ inline bool is_elected() {
  unsigned elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xFFFFFFFF;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

// A ring of stages as one side of a pipeline walks it: the index, and the parity of its phase.
template <int STAGES_OF_RING>
struct RingPosition {
  int index = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++index == STAGES_OF_RING) {
      index = 0;
            parity ^= 1;
    }
  }
  __device__ void skip(int stages) {
    index += stages;
    parity ^= index / STAGES_OF_RING % 2;
    index %= STAGES_OF_RING;
  }
};

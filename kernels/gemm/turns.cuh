// The consumers of a block, of 128 threads each, in turn.
#pragma once

// Consumers that take tiles in turn multiply in turn too. Beside keeping the tensor cores to one of
// them, this lets each wait for stages by parity: when its turn comes, the other has seen all its
// stages filled, so the next filling of a stage is the one that is waited for.
__device__ inline void await_turn(int consumer) {
  asm volatile("bar.sync %0, 256;" ::"r"(4 + consumer) : "memory");
}
__device__ inline void pass_turn(int consumer) {
  asm volatile("bar.arrive %0, 256;" ::"r"(4 + (consumer + 1) % CONSUMERS) : "memory");
}

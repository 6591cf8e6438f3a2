// The second tree of the lecture: the upper half is added to the lower, again and again.
//
// Idea:    in every round the first half of the working threads continues.
// Changes: whole warps stop, instead of most lanes of every warp; divergence remains only below 32
//          threads, and neighbours read neighbouring words of shared memory.
// Counter: divergent branches and instructions fall.
//
// Launch: blocks of THREADS (a power of two), one per THREADS elements.
#include "operators.cuh"

template <typename List>
__device__ void reduce_block(const List& list, long long n, Value* blocks) {
  __shared__ Value values[THREADS];
  const int t = threadIdx.x;
  const long long i = blockIdx.x * static_cast<long long>(THREADS) + t;
  values[t] = i < n ? list(i) : Operator::nothing();
  __syncthreads();
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    if (t < stride) values[t] = Operator::both(values[t], values[t + stride]);
    __syncthreads();
  }
  if (t == 0) blocks[blockIdx.x] = values[0];
}

#include "passes.cuh"

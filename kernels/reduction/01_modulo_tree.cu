// The first tree of the lecture: pairs at growing distance, picked by a remainder.
//
// Idea:    each block reduces its elements in shared memory: in round r every 2^(r+1)-th thread
//          adds the value 2^r further on. The blocks' values are reduced in the same way, until one
//          is left.
// Changes: nothing to compare with yet. The working threads are spread over all warps, so that
//          every warp stays busy, and diverges, until the last rounds.
// Counter: divergent branches; instructions executed per element.
//
// Launch: blocks of THREADS, one per THREADS elements; shared memory is static.
#include "operators.cuh"

template <typename List>
__device__ void reduce_block(const List& list, long long n, Value* blocks) {
  __shared__ Value values[THREADS];
  const int t = threadIdx.x;
  const long long i = blockIdx.x * static_cast<long long>(THREADS) + t;
  values[t] = i < n ? list(i) : Operator::nothing();
  __syncthreads();
  for (int stride = 1; stride < THREADS; stride *= 2) {
    if (t % (2 * stride) == 0) values[t] = Operator::both(values[t], values[t + stride]);
    __syncthreads();
  }
  if (t == 0) blocks[blockIdx.x] = values[0];
}

#include "passes.cuh"

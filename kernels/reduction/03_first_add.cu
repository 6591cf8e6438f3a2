// The first addition happens while loading.
//
// Idea:    each thread reads two elements and adds them before the tree begins.
// Changes: half as many blocks, and no thread that only copies one element to shared memory.
// Counter: barriers and instructions per element halve.
//
// Launch: blocks of THREADS (a power of two), one per 2 THREADS elements.
#include "operators.cuh"

template <typename List>
__device__ void reduce_block(const List& list, long long n, Value* blocks) {
  __shared__ Value values[THREADS];
  const int t = threadIdx.x;
  const long long i = blockIdx.x * 2LL * THREADS + t;
  Value mine = i < n ? list(i) : Operator::nothing();
  if (i + THREADS < n) mine = Operator::both(mine, list(i + THREADS));
  values[t] = mine;
  __syncthreads();
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    if (t < stride) {
      mine = Operator::both(mine, values[t + stride]);
      values[t] = mine;
    }
    __syncthreads();
  }
  if (t == 0) blocks[blockIdx.x] = mine;
}

#include "passes.cuh"

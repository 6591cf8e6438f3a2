// A grid of fixed size; the tree in registers.
//
// Idea:    each thread reduces many elements on its own, striding through the list; the lanes of a
//          warp then exchange registers, and shared memory carries one value a warp. A second
//          launch of one block reduces the blocks' values.
// Changes: no barrier per element; two launches whatever the length.
// Counter: shared memory traffic all but vanishes; barriers too.
//
// Launch: reduce: any number of blocks of THREADS; reduce_blocks: one block of THREADS.
#include "block_reduce.cuh"

template <typename List>
__device__ Value reduce_list(const List& list, long long n) {
  const long long threads = static_cast<long long>(gridDim.x) * THREADS;
  Value mine = Operator::nothing();
  for (long long i = blockIdx.x * static_cast<long long>(THREADS) + threadIdx.x; i < n;
       i += threads) {
    mine = Operator::both(mine, list(i));
  }
  return block_reduce<THREADS>(mine, Operator::nothing(), Operator::both);
}

extern "C" __global__ void reduce(const ELEMENT* x, long long n, Value* blocks) {
  const Value value = reduce_list(Elements{x}, n);
  if (threadIdx.x == 0) blocks[blockIdx.x] = value;
}
extern "C" __global__ void reduce_blocks(const Value* x, long long n, Operator::Result* result) {
  const Value value = reduce_list(Partials{x}, n);
  if (threadIdx.x == 0) *result = Operator::result(value);
}

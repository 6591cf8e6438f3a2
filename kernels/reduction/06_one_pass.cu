// One launch: the block that finishes last reduces the blocks' values.
//
// Idea:    each block leaves its value in memory and takes a ticket, an atomic count. Whoever draws
//          the last one knows that all others are there, and combines them in the order of the
//          blocks: the result does not depend on which was last.
// Changes: the second launch, and with it half of the time of a short list.
// Counter: one atomic a block; launches.
//
// x at a multiple of 16 bytes; *tickets is 0 before the launch and after it. Launch: any number of
// blocks of THREADS.
#include "block_reduce.cuh"
#include "in_flight.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    reduce(const ELEMENT* x, long long n, Wide::Type* blocks, unsigned* tickets,
           Operator::Result* result) {
  __shared__ bool is_last;
  const Wide::Type value = block_reduce<THREADS>(reduce_share<THREADS, UNROLL>(x, n),
                                                 Wide::nothing(), Wide::both);
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) *result = Wide::result(value);
    return;
  }
  if (threadIdx.x == 0) {
    blocks[blockIdx.x] = value;
    __threadfence();  // the value is there before the ticket is drawn
    // The count wraps around to 0 by itself: the next launch finds it as this one did.
    is_last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;

  __threadfence();  // what the ticket promised is read after it
  Wide::Type mine = Wide::nothing();
  for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) {
    mine = Wide::both(mine, blocks[i]);
  }
  const Wide::Type all = block_reduce<THREADS>(mine, Wide::nothing(), Wide::both);
  if (threadIdx.x == 0) *result = Wide::result(all);
}

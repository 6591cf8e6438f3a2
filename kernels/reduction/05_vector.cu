// 128-bit loads, several under way in every thread.
//
// Idea:    to keep memory busy, bandwidth times latency bytes must be under way (Little's law): a
//          thread issues UNROLL loads of 16 bytes before it adds the first, and adds to a value of
//          its own for each element of a pack.
// Changes: the bandwidth of memory, for lists that are large enough.
// Counter: a quarter of the load requests, 16 sectors each; DRAM throughput.
//
// x at a multiple of 16 bytes. Launch: reduce: any number of blocks of THREADS; reduce_blocks: one.
#include "block_reduce.cuh"
#include "in_flight.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce(const ELEMENT* x, long long n, Wide::Type* blocks) {
  const Wide::Type value = block_reduce<THREADS>(reduce_share<THREADS, UNROLL>(x, n),
                                                 Wide::nothing(), Wide::both);
  if (threadIdx.x == 0) blocks[blockIdx.x] = value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_blocks(const Wide::Type* blocks, long long n, Operator::Result* result) {
  Wide::Type mine = Wide::nothing();
  for (long long i = threadIdx.x; i < n; i += THREADS) mine = Wide::both(mine, blocks[i]);
  const Wide::Type value = block_reduce<THREADS>(mine, Wide::nothing(), Wide::both);
  if (threadIdx.x == 0) *result = Wide::result(value);
}

// Keeps the odd numbers of an array, in place and in one pass. A block reads its tile, waits for
// the count of the blocks before it, and passes the sum on: count and state are one relaxed word.
// No fence stands between the reading of a tile and the blocks that overwrite it: the word is made
// of what was read.
#include <cuda/atomic>

using Word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

__global__ void keep_odd(int* x, int n, unsigned long long* words, int* kept_in_all) {
  __shared__ int tile[128];
  __shared__ int kept_before;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  int place = 0, kept = 0;
  for (int t = 0; t < blockDim.x; ++t) {
    if (t == threadIdx.x) place = kept;
    kept += tile[t] & 1;
  }
  if (threadIdx.x == 0) {
    unsigned long long before = 1ull << 32;
    if (blockIdx.x > 0) {
      do {
        before = Word(words[blockIdx.x - 1]).load(cuda::memory_order_relaxed);
      } while (before >> 32 == 0);
    }
    kept_before = static_cast<int>(before);
    Word(words[blockIdx.x]).store(before + kept, cuda::memory_order_relaxed);
    if (blockIdx.x == gridDim.x - 1) *kept_in_all = kept_before + kept;
  }
  __syncthreads();
  if (tile[threadIdx.x] & 1) x[kept_before + place] = tile[threadIdx.x];
}

// A counter's place is made by one instruction: 256 bins of bytes.
//
// Idea:    64 copies, so that the counters of one bin take 256 bytes and a bin's number is the second
//          byte of its counters' place. The byte of the data is put there by one permutation, with
//          the lane's column as the first byte: no shift, no mask, no comparison.
// Changes: two instructions an element, a permutation and an addition in shared memory, where 06
//          has four.
// Counter: integer instructions per element; shared atomics are what bounds it.
//
// As 06, for unsigned bytes and the 256 bins that they are; 64 KiB of dynamic shared memory.
#include "common/pack.cuh"

constexpr unsigned copies = 64, bins_of_bytes = 256;

extern "C" __global__ void __launch_bounds__(THREADS)
    histogram(const unsigned char* x, long long n, COUNTER* bins) {
  static_assert(THREADS % copies == 0, "every warp has its column");
  // At a multiple of 64 KiB: no carry out of the two bytes of a place.
  extern __shared__ __align__(65536) unsigned counts[];
  for (unsigned b = threadIdx.x; b < bins_of_bytes * copies; b += THREADS) counts[b] = 0;
  __syncthreads();
  const unsigned column = threadIdx.x % copies * sizeof(unsigned);
  const auto count_byte = [&](unsigned word, unsigned selector) {
    const unsigned place = __byte_perm(word, column, selector);
    atomicAdd(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(counts) + place), 1u);
  };

  constexpr long long tile = static_cast<long long>(THREADS) * UNROLL * sizeof(uint4);
  const long long whole = n / tile * tile;
  for (long long start = blockIdx.x * tile; start < whole; start += gridDim.x * tile) {
    const uint4* const first = reinterpret_cast<const uint4*>(x + start) + threadIdx.x;
    uint4 loaded[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) loaded[u] = __ldcs(first + u * THREADS);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const unsigned words[4] = {loaded[u].x, loaded[u].y, loaded[u].z, loaded[u].w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        // Bytes of the place: the column's first, the element, and twice the column's second, 0.
        count_byte(words[w], 0x5504);
        count_byte(words[w], 0x5514);
        count_byte(words[w], 0x5524);
        count_byte(words[w], 0x5534);
      }
    }
  }
  // Less than a tile is left: the whole grid shares it, element by element.
  for (long long i = whole + blockIdx.x * static_cast<long long>(THREADS) + threadIdx.x; i < n;
       i += gridDim.x * static_cast<long long>(THREADS)) {
    count_byte(x[i], 0x5504);
  }
  __syncthreads();

  // A warp adds up a bin; blocks begin at different bins, as in 06.
  const unsigned lane = threadIdx.x % 32;
  for (unsigned b = threadIdx.x / 32; b < bins_of_bytes; b += THREADS / 32) {
    const unsigned bin = (b + blockIdx.x * 37u) % bins_of_bytes;
    unsigned sum = counts[bin * copies + lane] + counts[bin * copies + 32 + lane];
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      sum += __shfl_down_sync(0xffffffffu, sum, distance);
    }
    if (lane == 0 && sum) atomicAdd(bins + bin, static_cast<COUNTER>(sum));
  }
}

// How the sums that mma.sync leaves in the registers of a block's warps reach rows of C that begin
// anywhere.
//
// All sums of the block pass through shared memory, where each row begins as far before a chunk of
// 16 bytes as in C. So threads store whole chunks, and only the elements before the first and behind
// the last one by one. What C holds where a thread will store chunks is copied to shared memory when
// the block begins, together with the operands; single elements are only prefetched.
#pragma once

#include "async_copy.cuh"
#include "common/pack.cuh"
#include "epilogue.cuh"
#include "whole_store.cuh"

// `rows` x `columns` sums, stored by `threads`. `reads_c`: whether C is added.
template <typename Sum, int rows, int columns, int threads, bool reads_c>
class BlockStore {
  static constexpr int at_once = 16 / static_cast<int>(sizeof(C_TYPE));  // elements of a chunk
  static constexpr int pitch = columns + 8;
  static constexpr int of_row = columns / at_once, ends = 2 * at_once;  // chunks and other elements
  static constexpr int chunks = rows * of_row / threads, singles = rows * ends / threads;  // a thread's
  static_assert(threads % of_row == 0 && chunks * threads == rows * of_row, "threads share chunks");
  static_assert(threads % ends == 0 && singles * threads == rows * ends, "threads share elements");

  // What all warps leave for each other. For each distance of a row from a chunk there is the bias
  // of its columns, so that it is read like the sums.
  struct Memory {
    Sum sums[rows][pitch];
    float bias[BIAS == bias_of_column ? at_once : 1][pitch];
  };
  union Chunk {
    uint4 all;
    C_TYPE each[at_once];
  };

 public:
  static constexpr int bytes = sizeof(Memory);  // of memory that the stages' may overlap
  static constexpr int old_bytes = reads_c ? rows * columns * static_cast<int>(sizeof(C_TYPE)) : 0;

  // The tile begins at (row, column) of C, which is m x n. `old`: shared memory for what C holds.
  __device__ BlockStore(C_TYPE* c, long long leading, int row, int column, int m, int n,
                        unsigned char* old)
      : c_(c + row * leading + column),
        old_(reinterpret_cast<uint4*>(old)),
        leading_(leading),
        row_(row),
        column_(column),
        height_(min(m - row, rows)),
        width_(min(n - column, columns)) {}

  // Starts to copy what C holds where this thread will store, in the group of copies that is open.
  __device__ void read() const {
    if (!reads_c) return;
    each_chunk([&](int i, C_TYPE* at, int, int) {
      uint4* const to = old_ + i * threads + threadIdx.x;
      copy_async<16>(shared_address(to), at, true);
    });
    each_single([&](int, C_TYPE* at, int, int) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
    });
  }

  // The sums of 16 rows of a warp, whose first is (row, column) of the tile: a lane's first two of
  // each 16 x 8 are of row lane / 4, the others eight rows below, as far from a chunk.
  template <int count>
  __device__ void put(unsigned char* memory, int row, int column, const Sum (&sums)[count][4]) const {
    const int lane = threadIdx.x % 32, r = row + lane / 4;
    Sum* const first = &of(memory).sums[r][skipped(r) + column + lane % 4 * 2];
#pragma unroll
    for (int j = 0; j < count; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) first[8 * j + e % 2 + e / 2 * 8 * pitch] = sums[j][e];
    }
  }

  // The bias of the tile's columns, before all threads meet for to_c().
  __device__ void put_bias(unsigned char* memory, const float* bias) const {
    if constexpr (BIAS == bias_of_column) {
      for (int i = threadIdx.x; i < at_once * pitch; i += threads) {
        const int skipped = i / pitch, column = i % pitch - skipped;
        const bool exists = column >= 0 && column < width_;
        of(memory).bias[skipped][i % pitch] = exists ? bias[column_ + column] : 0.0F;
      }
    }
  }

  // To C. All threads have put their sums.
  __device__ void to_c(unsigned char* memory, const float* bias, Sum alpha, Sum beta) const {
    const auto result = [&](Sum sum, const C_TYPE& before, float added) {
      return narrow<C_TYPE>(epilogue<ACTIVATION>(sum, alpha, beta,
                                                 reads_c ? static_cast<Sum>(widen(before)) : Sum(0),
                                                 static_cast<Sum>(added)));
    };
    const auto bias_of = [&](int r, int place) {
      if (BIAS == no_bias) return 0.0F;
      return BIAS == bias_of_row ? bias[row_ + r] : of(memory).bias[skipped(r)][place];
    };
    // All are read before the first store: a read behind a write waits for it.
    C_TYPE single[reads_c ? singles : 1];
    if (reads_c) each_single([&](int i, C_TYPE* at, int, int) { single[i] = *at; });
    each_chunk([&](int i, C_TYPE* at, int r, int place) {
      constexpr int quads = at_once < 4 ? 1 : at_once / 4, of_quad = at_once / quads;
      using Quad = Pack<Sum, of_quad>;
      Chunk chunk, old = {};
      if (reads_c) old.all = old_[i * threads + threadIdx.x];
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        const Quad sums = *reinterpret_cast<const Quad*>(&of(memory).sums[r][place + of_quad * q]);
#pragma unroll
        for (int e = 0; e < of_quad; ++e) {
          const int in_chunk = of_quad * q + e;
          chunk.each[in_chunk] =
              result(sums.at[e], old.each[in_chunk], bias_of(r, place + in_chunk));
        }
      }
      store_whole(reinterpret_cast<uint4*>(at), chunk.all);
    });
    each_single([&](int i, C_TYPE* at, int r, int place) {
      *at = result(of(memory).sums[r][place], single[reads_c ? i : 0], bias_of(r, place));
    });
  }

 private:
  __device__ static Memory& of(unsigned char* memory) { return *reinterpret_cast<Memory*>(memory); }

  // The elements between the chunk in which row `r` begins and its first.
  __device__ int skipped(int r) const {
    const auto at = reinterpret_cast<unsigned long long>(c_ + r * leading_);
    return static_cast<int>(at % 16) / static_cast<int>(sizeof(C_TYPE));
  }

  // Whether rows so many apart begin equally far before a chunk, whatever lies between them.
  __device__ static constexpr bool lie_alike(int apart) {
    return apart * static_cast<int>(sizeof(C_TYPE)) % 16 == 0;
  }

  // Calls `visit` for each whole chunk of this thread that exists: its number, where it lies in C,
  // its row and its place in the row in shared memory.
  template <typename Visit>
  __device__ void each_chunk(const Visit& visit) const {
    constexpr int apart = threads / of_row;
    const int first = threadIdx.x / of_row, place = threadIdx.x % of_row * at_once;
#pragma unroll
    for (int i = 0; i < chunks; ++i) {
      const int r = first + i * apart, before = skipped(lie_alike(apart) ? first : r);
      if (r >= height_ || place < before || place + at_once > before + width_) continue;
      visit(i, c_ + r * leading_ + place - before, r, place);
    }
  }
  // The same for each element outside of whole chunks.
  template <typename Visit>
  __device__ void each_single(const Visit& visit) const {
    constexpr int apart = threads / ends;
    const int first = threadIdx.x / ends, e = threadIdx.x % ends;
#pragma unroll
    for (int i = 0; i < singles; ++i) {
      const int r = first + i * apart;
      const int before = skipped(lie_alike(apart) ? first : r), behind = before + width_;
      const int place = e < at_once ? e : behind / at_once * at_once + e - at_once;
      const bool is_head = before > 0 && e >= before && e < min(at_once, behind);
      const bool is_tail = e >= at_once && place < behind && (behind >= at_once || before == 0);
      if (r < height_ && (is_head || is_tail)) visit(i, c_ + r * leading_ + place - before, r, place);
    }
  }

  C_TYPE* c_;
  uint4* old_;  // a thread's chunks, `threads` apart
  long long leading_;
  int row_, column_, height_, width_;
};

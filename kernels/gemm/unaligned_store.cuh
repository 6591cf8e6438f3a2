// How the sums of the two blocks of a tile of unaligned_rows.cu are added up and become C.
//
// Constants: those of unaligned_rows.cu.
#pragma once

#include "epilogue.cuh"
#include "unaligned_tile.cuh"

// The sums of the other block's half of the rows, to that block.
template <int rank>
__device__ inline void send_sums(const Sums& sum, Shared& shared) {
#pragma unroll
  for (int i = 0; i < groups_kept; ++i) {
    const float* const of = sum + (rank ^ 1) * (tile_m / 4) + 4 * i;
    const float values[4] = {of[0], of[1], of[2], of[3]};
    send(shared.received[i][threadIdx.x], values, shared.is_received[i / groups_of_parcel],
         rank ^ 1);
  }
}

// Where an element of C lies, counted from another so many rows above it and columns before it.
__device__ inline long long offset_in_c(const Arguments& p, int rows, int columns) {
  return TRANSPOSED ? columns * p.c_leading + rows : rows * p.c_leading + columns;
}

// The place of a thread's sums in C: of rows `row` and the next, and of those 8, 16, ... further
// on; of two columns.
struct Place {
  int row, column, columns;  // how many columns there are from `column` on
  C_TYPE* at;
};

__device__ inline Place place_of(const Arguments& p, const BlockTile& tile, int rank) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = tile.row + rank * (tile_m / 2) + lane % 4 * 2;
  const int column = tile.column + 2 * (B_ALONG_K ? warp + 8 * (lane / 4) : 8 * warp + lane / 4);
  return {row, column, p.n - column,
          static_cast<C_TYPE*>(p.c) + tile.batch * p.c_stride + offset_in_c(p, row, column)};
}

__device__ inline float bias_of(const Arguments& p, int row, int column) {
  return BIAS && row < p.m && column < p.n ? bias_at<BIAS>(p.bias, row, column) : 0.0F;
}

// Calls visit(i, where it lies, row, column) for those of rows r and r + 1 of two columns each that
// exist.
template <typename Visit>
__device__ inline void each_element(const Arguments& p, const Place& place, int group,
                                    const Visit& visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int e = i % 2, h = i / 2, row = place.row + 8 * group + e;
    if (row < p.m && h < place.columns) {
      visit(i, place.at + offset_in_c(p, 8 * group + e, h), row, place.column + h);
    }
  }
}

// The elements of C where a thread will store, read before its first store: a read behind a write
// waits.
struct Addend {
  C_TYPE of[READS_C ? groups_kept : 1][4];

  __device__ Addend(const Arguments& p, const Place& place) {
#pragma unroll
    for (int group = 0; READS_C && group < groups_kept; ++group) {
      each_element(p, place, group,
                   [&](int i, const C_TYPE* at, int, int) { of[group][i] = *at; });
    }
  }
};

// One element at a time.
__device__ inline void store_each(const Arguments& p, const Place& place, int group,
                                  const float (&total)[4], const Addend& addend) {
  each_element(p, place, group, [&](int i, C_TYPE* at, int row, int column) {
    const float before = READS_C ? static_cast<float>(widen(addend.of[group][i])) : 0.0F;
    *at = narrow<C_TYPE>(epilogue<ACTIVATION>(total[i], p.alpha, READS_C ? p.beta : 0.0F, before,
                                              bias_of(p, row, column)));
  });
}

// Two elements of C may be stored at once.
constexpr bool has_words = !READS_C && sizeof(C_TYPE) == 2;
// Whether the neighbour of a thread's two elements in memory is no neighbouring thread's.
constexpr bool pairs_are_apart = TRANSPOSED || B_ALONG_K;

// Two columns of a row of 16-bit elements, stored at once. Where the row begins at an odd element,
// the word to store has the second of them and the first of the neighbour's, four lanes further on;
// eight neighbours have a row's columns of a warp.
struct WordStore {
  C_TYPE* to;
  int rows;                // from this one on
  bool whole, tail, head;  // stores the word, its first half alone, what is before it
};

template <bool odd>
__device__ inline WordStore word_store(const Arguments& p, const Place& place, bool is_second) {
  const int lane = threadIdx.x % 32, columns = place.columns;
  const bool whole = odd ? lane < 28 && columns > 2 : columns > 1;
  return {place.at + (is_second ? p.c_leading : 0) + odd, p.m - place.row - is_second, whole,
          odd ? !whole && columns > 1 : columns == 1, odd && lane < 4 && columns > 0};
}

__device__ inline void store_half(C_TYPE* to, unsigned bits) {
  *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(bits);
}

template <bool odd>
__device__ inline void store_word(const WordStore& store, C_TYPE* to, int group, unsigned own) {
  const bool is_row = store.rows > 8 * group;
  unsigned word = own;
  if (odd) word = __funnelshift_r(own, __shfl_down_sync(~0U, own, 4), 16);
  if (is_row && store.whole) *reinterpret_cast<unsigned*>(to) = word;
  if (is_row && store.tail) store_half(to, odd ? own >> 16 : own);
  if (odd && is_row && store.head) store_half(to - 1, own);
}

// An element of C, where C is not read.
template <typename Element>
__device__ inline unsigned bits_of(const Arguments& p, int row, int column, float total) {
  const float bias = bias_of(p, row, column);
  return narrow<Element>(epilogue<ACTIVATION>(total, p.alpha, 0.0F, 0.0F, bias)).bits;
}

template <typename Element>
__device__ inline unsigned pair_of(const Arguments& p, const Place& place, int row, float first,
                                   float second) {
  return bits_of<Element>(p, row, place.column, first) |
         bits_of<Element>(p, row, place.column + 1, second) << 16;
}

// The same as words of two neighbours in memory, of a column or of a row, where they are one.
template <typename Element>
__device__ inline void store_pairs(const Arguments& p, const Place& place, int group,
                                   const float (&total)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = place.row + 8 * group + (TRANSPOSED ? 0 : i), h = TRANSPOSED ? i : 0;
    if (row >= p.m || h >= place.columns) continue;
    Element* const to = place.at + offset_in_c(p, row - place.row, h);
    const int column = place.column + h;
    const unsigned first = bits_of<Element>(p, row, column, total[TRANSPOSED ? 2 * i : i]);
    const unsigned second =
        TRANSPOSED ? bits_of<Element>(p, row + 1, column, total[2 * i + 1])
                   : bits_of<Element>(p, row, column + 1, total[2 + i]);
    const bool has_second = TRANSPOSED ? row + 1 < p.m : place.columns > 1;
    if (has_second && reinterpret_cast<unsigned long long>(to) % sizeof(unsigned) == 0) {
      *reinterpret_cast<unsigned*>(to) = first | second << 16;
    } else {
      store_half(to, first);
      if (has_second) store_half(to + 1, second);
    }
  }
}

// Adds what the other block sends to what this one keeps, and stores it: one way to store in a
// loop, since nothing runs beside this.
template <int rank, bool in_words>
__device__ inline void finish(const Sums& sum, Shared& shared, const Arguments& p,
                              const Place& place, const Addend& addend, bool second_is_even) {
  const WordStore even = word_store<false>(p, place, second_is_even);
  const WordStore other_row = word_store<C_IS_ODD>(p, place, !second_is_even);
  C_TYPE *to_even = even.to, *to_other = other_row.to;
  const long long step = 8 * p.c_leading;
#pragma unroll
  for (int i = 0; i < groups_kept; ++i) {
    if (i % groups_of_parcel == 0) wait(shared.is_received[i / groups_of_parcel], 0);
    const float4 other = shared.received[i][threadIdx.x];
    const float* const own = sum + rank * (tile_m / 4) + 4 * i;
    const float total[4] = {own[0] + other.x, own[1] + other.y, own[2] + other.z,
                            own[3] + other.w};
    if constexpr (in_words) {
      const int row = place.row + 8 * i;
      const unsigned first = pair_of<C_TYPE>(p, place, row, total[0], total[2]);
      const unsigned second = pair_of<C_TYPE>(p, place, row + 1, total[1], total[3]);
      store_word<false>(even, to_even, i, second_is_even ? second : first);
      store_word<C_IS_ODD>(other_row, to_other, i, second_is_even ? first : second);
      to_even += step;
      to_other += step;
    } else if constexpr (pairs_are_apart && has_words) {
      store_pairs<C_TYPE>(p, place, i, total);
    } else {
      store_each(p, place, i, total, addend);
    }
  }
}

template <int rank>
__device__ inline void exchange_and_store(const Sums& sum, Shared& shared, const Arguments& p,
                                          const BlockTile& tile) {
  constexpr bool fits_words = has_words && !pairs_are_apart;
  const Place place = place_of(p, tile, rank);
  const Addend addend(p, place);
  send_sums<rank>(sum, shared);
  // Where C's pitch is odd, one of two rows begins at an odd element; else none should.
  const bool begins_odd = reinterpret_cast<unsigned long long>(place.at) / sizeof(C_TYPE) % 2;
  if (fits_words && (C_IS_ODD || !begins_odd)) {
    finish<rank, fits_words>(sum, shared, p, place, addend, C_IS_ODD && begins_odd);
  } else {
    finish<rank, false>(sum, shared, p, place, addend, false);
  }
}

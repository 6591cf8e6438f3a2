// How the sums that mma.sync leaves in a warp's registers reach rows of C.
//
// Lane 4g + t holds columns 2t and 2t + 1 of row g, of each 8 x 8. Stored like that, a warp would
// write pieces of eight rows at once. So 16 rows of a warp's sums pass through shared memory, and a
// warp stores whole rows, several elements a lane where C allows it. Elements of C that are added are
// all read before the first one is written: a read behind a write waits for it.
#pragma once

#include "common/pack.cuh"
#include "epilogue.cuh"
#include "whole_store.cuh"

template <typename Sum>
struct PairOf;
template <>
struct PairOf<float> {
  using Type = float2;
};
template <>
struct PairOf<int> {
  using Type = int2;
};
template <>
struct PairOf<double> {
  using Type = double2;
};

// Neighbours in a row. As a structure they would be moved one by one.
template <typename Element, int count>
union Neighbours {
  typename Word<sizeof(Element) * count>::type all;
  Element each[count];
};

// 16 rows of `columns` sums, stored `at_once` at a time; rows of C begin and end at multiples of
// these. `reads_c`: whether C is added.
template <typename Sum, int columns, int at_once, bool reads_c>
struct WarpStore {
  static constexpr int height = 16, of_row = columns / at_once;
  static constexpr int stores = height * of_row / 32;  // of a lane
  static constexpr int apart = columns + 8;            // between rows: no two of put()'s share a bank
  using Old = Neighbours<C_TYPE, at_once>;

  alignas(16) Sum rows[height][apart];
  Old old[reads_c ? stores * 32 : 1];

  // The sums of each 16 x 8: a lane's first two are of row lane / 4, the others eight rows below.
  template <int count>
  __device__ void put(const Sum (&sums)[count][4]) {
    using Pair = typename PairOf<Sum>::Type;
    static_assert(8 * count == columns, "all columns");
    const int lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < count; ++j) {
      Sum* const first = &rows[lane / 4][8 * j + lane % 4 * 2];
      *reinterpret_cast<Pair*>(first) = {sums[j][0], sums[j][1]};
      *reinterpret_cast<Pair*>(first + 8 * apart) = {sums[j][2], sums[j][3]};
    }
    __syncwarp();
  }

  // To C, whose element (row_of(r), column) belongs to the first sum of row r. m x n: C's extents.
  template <typename RowOf>
  __device__ void to_c(const RowOf& row_of, int column, C_TYPE* c, long long leading, int m, int n,
                       const float* bias, Sum alpha, Sum beta) {
    const auto target = [&](int row, int j) {
      return reinterpret_cast<decltype(Old::all)*>(&c[row * leading + column + j]);
    };
    if (reads_c) {
      Old held[stores];
      each<stores>([&](int s, int r, int j) {
        if (row_of(r) < m && column + j < n) held[s].all = *target(row_of(r), j);
      });
      each<stores>([&](int s, int, int) { old[s * 32 + threadIdx.x % 32].all = held[s].all; });
    }
    each<4>([&](int s, int r, int j) {
      const int row = row_of(r);
      if (row >= m || column + j >= n) return;
      Old result{};
      if (reads_c) result.all = old[s * 32 + threadIdx.x % 32].all;
#pragma unroll
      for (int e = 0; e < at_once; ++e) {
        const Sum before = reads_c ? static_cast<Sum>(widen(result.each[e])) : Sum(0);
        const Sum added = static_cast<Sum>(bias_at<BIAS>(bias, row, column + j + e));
        result.each[e] =
            narrow<C_TYPE>(epilogue<ACTIVATION>(rows[r][j + e], alpha, beta, before, added));
      }
      store_whole(target(row, j), result.all);
    });
  }

  // The sums as they are, to rows `pitch` apart.
  template <typename RowOf>
  __device__ void to_partial(const RowOf& row_of, int column, Sum* partial, long long pitch, int m,
                             int n) const {
    using Sums = Neighbours<Sum, at_once>;
    each<4>([&](int, int r, int j) {
      if (row_of(r) >= m || column + j >= n) return;
      Sums sums;
#pragma unroll
      for (int e = 0; e < at_once; ++e) sums.each[e] = rows[r][j + e];
      store_whole(reinterpret_cast<decltype(Sums::all)*>(&partial[row_of(r) * pitch + j]),
                  sums.all);
    });
  }

 private:
  // Calls `visit` for each store of the lane: its number, row and first column.
  template <int unrolled, typename Visit>
  __device__ static void each(const Visit& visit) {
#pragma unroll unrolled
    for (int s = 0; s < stores; ++s) {
      const int at = s * 32 + threadIdx.x % 32;
      visit(s, at / of_row, at % of_row * at_once);
    }
  }
};

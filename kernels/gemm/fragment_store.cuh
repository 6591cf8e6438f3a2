// How sums of 64 bits that mma.sync leaves in a warp's registers reach rows of C that begin and end at
// multiples of two elements: straight from the registers.
//
// Lane 4g + t holds columns 2t and 2t + 1 of row g, of each 8 x 8. The four lanes of a row store
// whole sectors. Elements of C that are added are all read before the first one is written: a read
// behind a write waits for it.
#pragma once

#include "epilogue.cuh"

template <typename Element>
struct alignas(2 * sizeof(Element)) ElementPair {
  Element first, second;
};

// `across` pairs of columns, 8 apart, of 16 rows.
template <typename Sum, int across, bool reads_c>
struct FragmentStore {
  using Sums = Sum[across][4];

  // To C, whose element (row_of(r), column) belongs to the first sum of row r. m x n: C's extents.
  template <typename RowOf>
  __device__ static void to_c(const Sums& sums, const RowOf& row_of, int column, C_TYPE* c,
                              long long leading, int m, int n, const float* bias, Sum alpha,
                              Sum beta) {
    ElementPair<C_TYPE> pairs[2][across];
    if (reads_c) {
      each(row_of, column, m, n, [&](int h, int j, int row, int at) {
        pairs[h][j] = *reinterpret_cast<const ElementPair<C_TYPE>*>(&c[row * leading + at]);
      });
    }
    each(row_of, column, m, n, [&](int h, int j, int row, int at) {
      const auto result = [&](Sum sum, C_TYPE before, int of_column) {
        return narrow<C_TYPE>(epilogue<ACTIVATION>(
            sum, alpha, beta, reads_c ? static_cast<Sum>(widen(before)) : Sum(0),
            static_cast<Sum>(bias_at<BIAS>(bias, row, of_column))));
      };
      const ElementPair<C_TYPE> old = pairs[h][j];
      *reinterpret_cast<ElementPair<C_TYPE>*>(&c[row * leading + at]) = {
          result(sums[j][2 * h], old.first, at), result(sums[j][2 * h + 1], old.second, at + 1)};
    });
  }

  // The sums as they are, to rows `pitch` apart.
  template <typename RowOf>
  __device__ static void to_partial(const Sums& sums, const RowOf& row_of, int column, Sum* partial,
                                    long long pitch, int m, int n) {
    each(row_of, column, m, n, [&](int h, int j, int row, int at) {
      *reinterpret_cast<ElementPair<Sum>*>(&partial[row * pitch + at]) = {sums[j][2 * h],
                                                                         sums[j][2 * h + 1]};
    });
  }

 private:
  // Calls `visit` for each pair of this lane inside of C: its half of the rows, its number, its row
  // and first column.
  template <typename RowOf, typename Visit>
  __device__ static void each(const RowOf& row_of, int column, int m, int n, const Visit& visit) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row_of(lane / 4 + 8 * h);
      if (row >= m) continue;
#pragma unroll
      for (int j = 0; j < across; ++j) {
        const int at = column + 8 * j + lane % 4 * 2;
        if (at < n) visit(h, j, row, at);
      }
    }
  }
};

// How sums of 64 bits that mma.sync leaves in a warp's registers reach rows of C that begin and end at
// multiples of two elements: straight from the registers.
//
// Lane 4g + t holds columns 2t and 2t + 1 of row g, of each 8 x 8. The four lanes of a row store
// whole sectors. Elements of C that are added are read before the first one is written, since a read
// behind a write waits for it: before the sums are there, where registers allow it.
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

  // The addends of the sums: C as it was, and the bias of a lane's columns, or of its rows.
  struct Added {
    ElementPair<C_TYPE> old[2][across];
    float bias[BIAS == bias_of_column ? 2 * across : 2];
  };

  // C's element (row_of(r), column) belongs to the first sum of row r. m x n: C's extents.
  template <typename RowOf>
  __device__ static void read(Added& added, const RowOf& row_of, int column, const C_TYPE* c,
                              long long leading, int m, int n, const float* bias) {
    each(row_of, column, m, n, [&](int h, int j, int row, int at) {
      if (reads_c) {
        added.old[h][j] =
            *reinterpret_cast<const ElementPair<C_TYPE>*>(&c[row * leading + at]);
      }
      if (BIAS == bias_of_row && j == 0) added.bias[h] = bias[row];
    });
#pragma unroll
    for (int j = 0; BIAS == bias_of_column && j < across; ++j) {
      const int at = column + 8 * j + threadIdx.x % 4 * 2;
      if (at < n) added.bias[2 * j] = bias[at], added.bias[2 * j + 1] = bias[at + 1];
    }
  }

  // To C, with what read() found there.
  template <typename RowOf>
  __device__ static void to_c(const Sums& sums, const Added& added, const RowOf& row_of, int column,
                              C_TYPE* c, long long leading, int m, int n, Sum alpha, Sum beta) {
    each(row_of, column, m, n, [&](int h, int j, int row, int at) {
      const auto result = [&](Sum sum, C_TYPE before, int odd) {
        const float of_bias = BIAS == no_bias          ? 0.0F
                              : BIAS == bias_of_column ? added.bias[2 * j + odd]
                                                       : added.bias[h];
        return narrow<C_TYPE>(epilogue<ACTIVATION>(
            sum, alpha, beta, reads_c ? static_cast<Sum>(widen(before)) : Sum(0),
            static_cast<Sum>(of_bias)));
      };
      const ElementPair<C_TYPE> old = reads_c ? added.old[h][j] : ElementPair<C_TYPE>{};
      *reinterpret_cast<ElementPair<C_TYPE>*>(&c[row * leading + at]) = {
          result(sums[j][2 * h], old.first, 0), result(sums[j][2 * h + 1], old.second, 1)};
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

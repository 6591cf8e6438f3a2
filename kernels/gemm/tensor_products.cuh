// A consumer's sums of one tile of C, and the products of one tile of k that are added to them.
#pragma once

#include "tensor_tile.cuh"
#include "wgmma.cuh"

using Sums = Sum[products_of_consumer][TILE_N / 2];

__device__ inline void pin(Sums& sum) {
#pragma unroll
  for (int i = 0; i < products_of_consumer; ++i) pin(sum[i]);
}

// Starts the products of a stage: rows of A's tile from `a` on, all of B's tile. The sums start at 0
// with the first.
__device__ inline void begin_stage(Sums& sum, const unsigned char* a, const unsigned char* b,
                                   bool is_first) {
  const unsigned long long of_b = B_MN_MAJOR ? mn_major_tile(b, chunk_bytes) : k_major_tile(b);
  pin(sum);
  begin_products();
#pragma unroll
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < products_of_consumer; ++i) {
      const unsigned char* const at = a + 64 * i * row_bytes;  // a chunk of 64 is as large
      const unsigned long long of_a =
          A_MN_MAJOR ? mn_major_tile(at, chunk_bytes) : k_major_tile(at);
      Products<TILE_N>::add<A_MN_MAJOR, B_MN_MAJOR>(
          sum[i], advanced(of_a, step * (A_MN_MAJOR ? 16 * row_bytes : 32)),
          advanced(of_b, step * (B_MN_MAJOR ? 16 * row_bytes : 32)), !is_first || step > 0);
    }
  }
  commit_products();
  pin(sum);
}

// Until all products are done.
__device__ inline void end_stages(Sums& sum) {
  wait_for_products<0>();
  pin(sum);
}

// Starts the products of 64 rows of a stage, which lie at `a`, with all of B's tile, as sums of their
// own.
__device__ inline void begin_part(Sum (&part)[TILE_N / 2], const unsigned char* a,
                                  const unsigned char* b) {
  const unsigned long long of_a = k_major_tile(a), of_b = k_major_tile(b);
  pin(part);
  begin_products();
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    Products<TILE_N>::add<false, false>(part, advanced(of_a, step * 32), advanced(of_b, step * 32),
                                        step > 0);
  }
  commit_products();
}

// Adds such sums, once they are there, to those of the tile.
__device__ inline void promote(Sum (&sum)[TILE_N / 2], const Sum (&part)[TILE_N / 2]) {
#pragma unroll
  for (int i = 0; i < TILE_N / 2; ++i) sum[i] += part[i];
}

// The factors of a consumer's sums: its rows begin at row `row` of C and lie `rows_apart`, the tile's
// columns begin at `column`. The lanes of a warp hold one row each and, where columns do not share
// factors, one column of 32 each: few registers, so that they can be read long before they are needed.
class TileScales {
  static constexpr int rows = 16 * products_of_consumer;  // of a warp
  // Blocks of columns that a tile meets.
  static constexpr bool is_aligned = steps_of_scale % TILE_N == 0 || TILE_N % steps_of_scale == 0;
  static constexpr int blocks =
      (TILE_N + steps_of_scale - 2) / steps_of_scale + (is_aligned ? 0 : 1);
  static constexpr int of_rows = (rows + 31) / 32;
  static constexpr int of_columns = B_SCALES_BY_BLOCK ? blocks : (TILE_N + 31) / 32;

 public:
  __device__ TileScales(const Arguments& p, int row, int rows_apart, int column)
      : row_(row), rows_apart_(rows_apart), column_(column), last_row_(p.m - 1),
        last_column_(p.n - 1) {}

  // Begins to read those of block `block` of the steps of k.
  __device__ void read(const Arguments& p, int block) {
    const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < of_rows; ++i) {
      const int number = 32 * i + lane;
      const int row = row_ + (number / 16 * 64 + 16 * warp + number % 16) * rows_apart_;
      rows_[i] = p.of_a.at(min(row, last_row_), block);
    }
#pragma unroll
    for (int i = 0; i < of_columns; ++i) {
      const int column = B_SCALES_BY_BLOCK
                             ? (column_ / steps_of_scale + i) * steps_of_scale
                             : column_ + 32 * i + lane;
      columns_[i] = p.of_b.at(min(column, last_column_), block);
    }
  }

  // The factor of row half h of the consumer's product i.
  __device__ float of_row(int i, int h) const {
    const int number = 16 * i + 8 * h;
    return __shfl_sync(~0U, rows_[number / 32], number % 32 + threadIdx.x % 32 / 4);
  }
  // That of the columns of sum j (wgmma.cuh says whose it is).
  __device__ float of_column(int j) const {
    const int matrix = j / 4 * 8;  // its first column
    if (!B_SCALES_BY_BLOCK) {
      return __shfl_sync(~0U, columns_[matrix / 32],
                         matrix % 32 + threadIdx.x % 4 * 2 + j % 2);
    }
    const int number = is_aligned
                           ? matrix / steps_of_scale
                           : (column_ + matrix) / steps_of_scale - column_ / steps_of_scale;
    float factor = columns_[0];
#pragma unroll
    for (int b = 1; b < blocks; ++b) {
      if (number == b) factor = columns_[b];
    }
    return factor;
  }

 private:
  int row_, rows_apart_, column_, last_row_, last_column_;
  float rows_[of_rows], columns_[of_columns];
};

// Calls `act(i, j, factor)` for each sum j of `count` products i of the consumer, from `first` on.
template <int count, typename Act>
__device__ inline void with_factors(const TileScales& scales, int first, const Act& act) {
  float of_row[count][2];
#pragma unroll
  for (int i = 0; i < count; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) of_row[i][h] = scales.of_row(first + i, h);
  }
#pragma unroll
  for (int j = 0; j < TILE_N / 2; j += 4) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float of_column = scales.of_column(j + e);
#pragma unroll
      for (int i = 0; i < count; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) act(first + i, j + 2 * h + e, of_row[i][h] * of_column);
      }
    }
  }
}

__device__ inline void clear(Sums& sum) {
#pragma unroll
  for (int i = 0; i < products_of_consumer; ++i) {
#pragma unroll
    for (int j = 0; j < TILE_N / 2; ++j) sum[i][j] = 0;
  }
}

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

// The factors of this thread's sums of 64 rows from `row` of C on, `rows_apart` from row to row, and of
// the tile's columns from `column` on, in block `block` of the steps of k.
class TileScales {
  // Blocks of columns that a tile meets.
  static constexpr int blocks = (TILE_N + steps_of_scale - 2) / steps_of_scale + 1;

 public:
  __device__ TileScales(const Arguments& p, int row, int rows_apart, int column, int block)
      : of_b_(p.of_b), column_(column), columns_(p.n), block_(block) {
    row += (16 * (threadIdx.x % 128 / 32) + threadIdx.x % 32 / 4) * rows_apart;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      of_row_[h] = p.of_a.at(min(row + 8 * h * rows_apart, p.m - 1), block);
    }
    const int first = column / steps_of_scale, last = (p.n - 1) / steps_of_scale;
#pragma unroll
    for (int i = 0; i < (B_SCALES_BY_BLOCK ? blocks : 0); ++i) {
      of_block_[i] = p.of_b.at(min(first + i, last) * steps_of_scale, block);
    }
  }

  // The factor of sum i (wgmma.cuh says whose it is): row half i / 2 % 2, 8 columns i / 4.
  __device__ float at(int i) const {
    float of_column;
    if (B_SCALES_BY_BLOCK) {
      const int number = (column_ + i / 4 * 8) / steps_of_scale - column_ / steps_of_scale;
      of_column = of_block_[0];
#pragma unroll
      for (int b = 1; b < blocks; ++b) {
        if (number == b) of_column = of_block_[b];
      }
    } else {
      const int column = column_ + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
      of_column = of_b_.at(min(column, columns_ - 1), block_);
    }
    return of_row_[i / 2 % 2] * of_column;
  }

 private:
  const Scales& of_b_;
  int column_, columns_, block_;
  float of_row_[2];
  float of_block_[blocks];
};

__device__ inline void promote(Sum (&sum)[TILE_N / 2], const Sum (&part)[TILE_N / 2],
                               const TileScales& scales) {
#pragma unroll
  for (int i = 0; i < TILE_N / 2; ++i) sum[i] = fmaf(part[i], scales.at(i), sum[i]);
}

__device__ inline void clear(Sums& sum) {
#pragma unroll
  for (int i = 0; i < products_of_consumer; ++i) {
#pragma unroll
    for (int j = 0; j < TILE_N / 2; ++j) sum[i][j] = 0;
  }
}

// The copies of one tile of A and one of B to shared memory.
#pragma once

#include "tensor_tile.cuh"

// The part `part` of `parts` of a tile of `rows` rows of A, or columns of B, from `first` on, to all
// blocks in `blocks`, or without `is_shared` to this one. A part of a K-major tile is some of its
// rows. One of an MN-major tile is some of its boxes of 64 columns, or where these are no multiple of
// `parts`, some of k in each.
template <bool mn_major, int rows, int parts>
__device__ inline void load_part(unsigned char* to, const TensorMap& map, Barrier& full, int first,
                                 int k, int batch, int part, bool is_shared, int blocks) {
  constexpr bool by_k = mn_major && rows / 64 % parts != 0;
  constexpr int rows_of_part = by_k ? rows : rows / parts;
  constexpr int k_of_part = by_k ? tile_k / parts : tile_k;
  constexpr int rows_of_box = mn_major ? 64 : rows_of_part;
  const int first_row = by_k ? 0 : part * rows_of_part, first_k = by_k ? part * k_of_part : 0;
#pragma unroll
  for (int r = 0; r < rows_of_part; r += rows_of_box) {
    unsigned char* const at = to + (first_row + r + first_k) * row_bytes;
    const int row = first + first_row + r, x = mn_major ? row : k, y = mn_major ? k + first_k : row;
    if (is_shared) {
      load_box_to_all(at, map, full, x, y, batch, blocks);
    } else {
      load_box(at, map, full, x, y, batch);
    }
  }
}

// A tile, or with `shares` this block's part of it for all blocks that need the same.
template <bool mn_major, int rows, int parts>
__device__ inline void load_tile(unsigned char* to, const TensorMap& map, Barrier& full, int first,
                                 int k, int batch, bool shares, int part, int blocks) {
  if (parts > 1 && shares) {
    load_part<mn_major, rows, parts>(to, map, full, first, k, batch, part, true, blocks);
    return;
  }
#pragma unroll 1  // rare, and the copying thread has few registers
  for (int p = 0; p < parts; ++p) {
    load_part<mn_major, rows, parts>(to, map, full, first, k, batch, p, false, 0);
  }
}

__device__ inline void load_a(unsigned char* to, const TensorMap& map, Barrier& full, int row,
                              int k, int batch, bool shares) {
  constexpr int first_of_row = ((1 << CLUSTER) - 1) / ((1 << down) - 1);  // every `down`-th block
  load_tile<A_MN_MAJOR, TILE_M, across>(to, map, full, row, k, batch, shares, column_in_cluster(),
                                        first_of_row << row_in_cluster());
}

template <bool shares = true>
__device__ inline void load_b(unsigned char* to, const TensorMap& map, Barrier& full, int column,
                              int k, int batch) {
  load_tile<B_MN_MAJOR, b_columns, down>(to, map, full, column, k, batch, shares, row_in_cluster(),
                                         ((1 << down) - 1) << column_in_cluster() * down);
}

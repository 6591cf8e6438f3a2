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

// The rank of the first block of this block's layer.
__device__ inline int first_of_layer() { return layer_of_block() * in_layer; }

__device__ inline void load_a(unsigned char* to, const TensorMap& map, Barrier& full, int row,
                              int k, int batch, bool shares) {
  constexpr int first_of_row = ((1 << in_layer) - 1) / ((1 << down) - 1);  // every `down`-th block
  load_tile<A_MN_MAJOR, TILE_M, across>(to, map, full, row, k, batch, shares, column_in_cluster(),
                                        first_of_row << (first_of_layer() + row_in_cluster()));
}

// Whether tile `kt` of k of the awaited operand need not arrive.
__device__ inline bool is_there(const Arguments& p, int kt) {
  return AWAITS != awaits_none && kt >= p.first_there && kt < p.end_there;
}

// Until tile `kt` of k of the awaited operand has arrived as far as the unit needs it: the copy engine
// may read it. Pieces arrive panel by panel, and in a panel each after those before it of the same
// sender: so the last panel's count, and the first tile of k of a piece.
__device__ inline void await_piece(const Arguments& p, const BlockUnit& unit, int kt) {
  if (is_there(p, kt) || kt % p.k_tiles_of_piece != 0) return;
  const int end = AWAITS == awaits_b ? min(unit.column + TILE_N, p.n) : min(unit.row + TILE_M, p.m);
  const unsigned* const at =
      p.arrived + (end - 1) / p.panel_width * p.pieces + kt / p.k_tiles_of_piece;
  unsigned word;
  do {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
  } while (word == 0);
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

template <bool shares = true>
__device__ inline void load_b(unsigned char* to, const TensorMap& map, Barrier& full, int column,
                              int k, int batch) {
  load_tile<B_MN_MAJOR, b_columns, down>(to, map, full, column, k, batch, shares, row_in_cluster(),
                                         ((1 << down) - 1)
                                             << (first_of_layer() + column_in_cluster() * down));
}

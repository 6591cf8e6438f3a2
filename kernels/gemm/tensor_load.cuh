// The copies of one tile of A and one of B to shared memory.
#pragma once

#include "tensor_tile.cuh"

__device__ inline void load_a(unsigned char* to, const TensorMap& map, Barrier& full, int row,
                              int k, int batch) {
  if (A_MN_MAJOR) {
#pragma unroll
    for (int c = 0; c < TILE_M / 64; ++c) {
      load_box(to + c * chunk_bytes, map, full, row + 64 * c, k, batch);
    }
  } else {
    load_box(to, map, full, k, row, batch);
  }
}

// B's tile, or this block's share of it for all blocks of the cluster.
__device__ inline void load_b(unsigned char* to, const TensorMap& map, Barrier& full, int column,
                              int k, int batch) {
  constexpr int share = TILE_N / CLUSTER;
  constexpr int box_columns = B_MN_MAJOR ? 64 : share;
  static_assert(share % box_columns == 0, "each block loads whole boxes");
  const int first = cluster_rank() * share;
#pragma unroll
  for (int c = first; c < first + share; c += box_columns) {
    unsigned char* const at = to + c * row_bytes;
    const int x = B_MN_MAJOR ? column + c : k, y = B_MN_MAJOR ? k : column + c;
    if (CLUSTER > 1) {
      load_box_to_all(at, map, full, x, y, batch, (1 << CLUSTER) - 1);
    } else {
      load_box(at, map, full, x, y, batch);
    }
  }
}

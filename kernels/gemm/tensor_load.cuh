// The copies of one tile of A and one of B to shared memory.
#pragma once

#include "tensor_tile.cuh"

// A's tile, or this block's share of it for all blocks of the cluster.
__device__ inline void load_a(unsigned char* to, const TensorMap& map, Barrier& full, int row,
                              int k, int batch, bool shares) {
  constexpr int share = TILE_M / across, box_rows = A_MN_MAJOR ? 64 : share;
#pragma unroll
  for (int r = 0; r < TILE_M; r += box_rows) {
    unsigned char* const at = to + r * row_bytes;
    const int x = A_MN_MAJOR ? row + r : k, y = A_MN_MAJOR ? k : row + r;
    if (!ACROSS || !shares) {
      load_box(at, map, full, x, y, batch);
    } else if (r / share == cluster_rank()) {
      load_box_to_all(at, map, full, x, y, batch, (1 << CLUSTER) - 1);
    }
  }
}

// B's tile, or this block's share of it for all blocks of the cluster.
template <bool shares = true>
__device__ inline void load_b(unsigned char* to, const TensorMap& map, Barrier& full, int column,
                              int k, int batch) {
  constexpr int share = b_columns / down;
  constexpr int box_columns = B_MN_MAJOR ? 64 : share;
  static_assert(share % box_columns == 0, "each block loads whole boxes");
  constexpr bool is_shared = shares && down > 1;
  constexpr int count = is_shared ? share : b_columns;
  const int first = is_shared ? cluster_rank() * share : 0;
#pragma unroll
  for (int c = first; c < first + count; c += box_columns) {
    unsigned char* const at = to + c * row_bytes;
    const int x = B_MN_MAJOR ? column + c : k, y = B_MN_MAJOR ? k : column + c;
    if (is_shared) {
      load_box_to_all(at, map, full, x, y, batch, (1 << CLUSTER) - 1);
    } else {
      load_box(at, map, full, x, y, batch);
    }
  }
}

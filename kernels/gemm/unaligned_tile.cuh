// The tile of a block of unaligned_rows.cu: shared memory, arguments, its place in C.
//
// Constants: those of unaligned_rows.cu, STEP and CLUSTER.
#pragma once

#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "element.cuh"
#include "tile_order.cuh"

constexpr int tile_m = TILE_M, tile_n = 128, tile_k = 64, steps = tile_k / STEP;
constexpr int consumers = 2, warps_of_consumers = 4 * consumers;
// Rows of B in memory, of which a tile has some: steps of k, or with B_ALONG_K columns.
constexpr int classes = 16, b_rows = B_ALONG_K ? tile_n : tile_k, rows_of_class = b_rows / classes;
constexpr int row_bytes = 128, a_bytes = tile_m * row_bytes;
// Lanes read 32 words in 32 banks: eight of each of four rows, 288 bytes apart, or four of each of
// eight, 176 bytes apart, of which 160 would be enough.
constexpr int box_columns = B_ALONG_K ? tile_k + 24 : tile_n + 16, b_row_bytes = 2 * box_columns;
constexpr int class_bytes = rows_of_class * b_row_bytes, b_bytes = classes * class_bytes;

struct Stage {
  unsigned char a[a_bytes];
  unsigned char b[b_bytes];
};
static_assert(sizeof(Stage) % 1024 == 0, "swizzled tiles begin at multiples of 1,024 bytes");

// Registers of a thread that hold sums: four for eight rows of C, of which it keeps half.
constexpr int groups_kept = tile_m / 16, parcels = 2, groups_of_parcel = groups_kept / parcels;

struct Shared {
  Stage stage[STAGES];
  float4 received[groups_kept][128 * consumers];
  Barrier full_a[STAGES], full_b[STAGES], empty[STAGES];
  Barrier is_received[parcels];  // the other block's sums
};

struct Maps {
  TensorMap a, b[classes];
};

struct Arguments {
  int m, n, tiles_m, tiles_n, k_tiles;
  int shift[classes];  // elements between a sector's begin and a row's, less than 16
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
};

struct BlockTile {
  int row, column, batch;
  int first, count;  // tiles of k; the second block has none where there is one
};

__device__ inline BlockTile tile_of_block(const Arguments& p) {
  const WorkUnit unit = work_unit(blockIdx.x / CLUSTER, p.tiles_m, p.tiles_n, 1, GROUP_ROWS);
  const int half = (p.k_tiles + 1) / 2, first = cluster_rank() * half;
  return {unit.tile_m * tile_m, unit.tile_n * tile_n, unit.batch, first,
          min(p.k_tiles - first, half)};
}

using Sums = float[tile_m / 2];  // of a thread

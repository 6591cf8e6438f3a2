// A tile of C^T = B^T A^T with B^T in registers: its extents, where a stage of the pipeline lies in
// shared memory, which unit of work a block has, and which columns a thread.
//
// Constants: those of register_operand.cu.
#pragma once

// The part of a tile that two blocks of a cluster share. The values are the host's.
#define PAIR_NONE 0
#define PAIR_SHARES_B 1  // one is below the other
#define PAIR_SHARES_A 2  // they are side by side
#define PAIR_SHARES_C 3  // each has half of k
#define CLUSTER (PAIR == PAIR_NONE ? 1 : 2)

#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "element.cuh"
#include "tile_order.cuh"

constexpr int tile_n = 64 * PRODUCTS * CONSUMERS;
constexpr int row_bytes = 128;  // of a tile in shared memory
constexpr int tile_k = 32, steps = tile_k / STEP;
constexpr int a_bytes = TILE_M * row_bytes;
// B's tile is made of boxes of 32 columns, swizzled; or, of each class of rows, of boxes of up to
// 128 columns and those that they begin early by. Where rows of a class begin half a sector further
// on than the one before in global memory, so they do here.
constexpr bool by_class = B_CLASSES > 1;
constexpr int box_columns = !by_class ? 32 : tile_n < 128 ? tile_n : 128;
constexpr int b_row_bytes = by_class ? 4 * (box_columns + (B_IS_ODD ? 12 : 8)) : row_bytes;
constexpr int box_bytes = tile_k / B_CLASSES * b_row_bytes;
constexpr int boxes = tile_n / box_columns * B_CLASSES, b_bytes = boxes * box_bytes;
// Rows of a tile that a block stores.
constexpr int rows_kept = PAIR == PAIR_SHARES_C ? TILE_M / 2 : TILE_M;
// The sums that a thread sends to the other block, in pieces of 16 bytes.
constexpr int pieces_sent = PAIR == PAIR_SHARES_C ? PRODUCTS * TILE_M / 16 : 0;
constexpr int at_once = 2 * PRODUCTS;  // neighbours in a row of C that one thread has
// Where C's rows begin anywhere, whole rows are stored through shared memory.
constexpr bool through_shared = !PARTIAL && !C_ALIGNED && !TRANSPOSED;
constexpr int lot_rows = 8, strip_columns = 32;  // of C in shared memory
constexpr int strips = tile_n / strip_columns;
static_assert(boxes % 2 == 0, "each block of a pair loads whole boxes");
static_assert(!by_class || b_row_bytes % 32 == (B_IS_ODD ? 16 : 0), "as in global memory");
static_assert(!by_class || box_bytes % 128 == 0, "the copy engine writes to such addresses");

using Lot = float[lot_rows][strip_columns];

struct Shared {
  alignas(1024) unsigned char a[STAGES][a_bytes];
  alignas(by_class ? 128 : 1024) unsigned char b[STAGES][b_bytes];
  Lot c[through_shared ? strips : 1][2];
  float4 received[pieces_sent > 0 ? pieces_sent : 1][pieces_sent > 0 ? 128 * CONSUMERS : 1];
  Barrier full[STAGES], empty[STAGES];
  Barrier is_received, is_taken;  // the other block's sums, and this block's by the other
};

struct Maps {
  TensorMap a[A_CLASSES], b[B_CLASSES];
};

struct Arguments {
  int m, n, k, batch;
  int tiles_m, tiles_n, splits, k_tiles, k_tiles_of_part, units;
  int a_shift[8];  // elements that each class begins early by
  int b_pitch;     // elements between rows, modulo a sector
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
  float* partial;  // batch x splits x m x partial_pitch
  long long partial_pitch;
  const unsigned *a, *b;  // where some elements are read without the copy engine
  long long a_leading, a_stride, b_leading, b_stride;
};

// `row` counts rows of the class. B is read from row k = tile * tile_k - shift on.
struct BlockUnit {
  int row, column, row_class, split, batch;
  int first, last;  // tiles of k
  int shift;
  int tail;  // how many of the last elements along k stand in the first places of tile 0
};

// Places before the first element of rows that begin early, but with a sector.
constexpr int most_tail = STEP - 1;

__device__ inline int tail_of(const Arguments& p, int shift) {
  const int beyond = (p.k + shift) % tile_k;
  return A_CLASSES > 1 && shift <= most_tail && beyond <= shift ? beyond : 0;
}

__device__ inline BlockUnit unit_of_block(const Arguments& p, int number) {
  constexpr int down = PAIR == PAIR_SHARES_B ? 2 : 1, across = PAIR == PAIR_SHARES_A ? 2 : 1;
  constexpr int deep = PAIR == PAIR_SHARES_C ? 2 : 1;
  const WorkUnit unit = work_unit(number, p.tiles_m / down, p.tiles_n / across, p.splits, GROUP_ROWS);
  const int rank = cluster_rank();
  const int row_class = unit.tile_m % A_CLASSES, shift = A_CLASSES > 1 ? p.a_shift[row_class] : 0;
  const int tail = tail_of(p, shift);
  // Parts of k are the same for all classes, lest one be empty.
  const bool cuts_k = PARTIAL || deep > 1;
  const int k_tiles =
      A_CLASSES > 1 && !cuts_k ? (p.k + shift - tail + tile_k - 1) / tile_k : p.k_tiles;
  const int first = (unit.split * deep + (deep > 1 ? rank : 0)) * p.k_tiles_of_part;
  return {(unit.tile_m / A_CLASSES * down + (down > 1 ? rank : 0)) * TILE_M,
          (unit.tile_n * across + (across > 1 ? rank : 0)) * tile_n,
          row_class,
          unit.split,
          unit.batch,
          first,
          min(k_tiles, first + p.k_tiles_of_part),
          shift,
          tail};
}

// The elements by which boxes of B by class begin early, with a sector of their first row `row`.
__device__ inline int shift_of_row(const Arguments& p, int row) { return row * p.b_pitch & 7; }

__device__ inline int row_of_c(const BlockUnit& unit, int row) {
  return row * A_CLASSES + unit.row_class;
}

// Which column is which row of a wgmma is free. A thread's rows g and g + 8 are neighbours in
// memory, and columns are dealt to lanes so that loads of B meet no bank twice: half a warp's pairs
// where the tile is swizzled or classes have even shifts, 0, 2, 4 and 6; of odd shifts, which are
// all different modulo 4, single elements of chunks of 4.
struct Place {
  int first;  // 32 columns of the tile, which this warp has or half of which
  int chunk;  // of 4 columns, of those
  int pair;   // of the chunk, for the first product; the second has the other pair
};

__device__ inline Place place_of_thread(int consumer) {
  const int warp = threadIdx.x % 128 / 32, g = threadIdx.x % 32 / 4;
  const int spread = 4 * (g % 2) + 2 * (g / 2 % 2) + g / 4;
  if (PRODUCTS == 2) {
    const int first = strip_columns * (4 * consumer + warp);
    if (by_class) return {first, spread, 0};
    return {first, 4 * (g % 2) + g / 2, g / 2 % 2};
  }
  const int first = strip_columns * (2 * consumer + warp / 2);
  if (by_class) return {first, spread, warp % 2};
  return {first, 4 * (g / 2 % 2) + g / 4 + 2 * (warp % 2), g % 2};
}

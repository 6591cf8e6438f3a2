// The common definitions of tensor_tiles.cu and panel_tiles.cu: the tile, its place in C, the
// kernel's arguments.
#pragma once

#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "element.cuh"
#include "operand_traits.cuh"
#include "scales.cuh"
#include "tile_order.cuh"

constexpr int row_bytes = 128;  // of a tile in shared memory
constexpr int tile_k = row_bytes / element_bytes;
constexpr int steps = tile_k / STEP;
// An MN-major B arrives in boxes of 64 columns, the last of which may be more than the tile needs.
constexpr int b_columns = B_MN_MAJOR ? (TILE_N + 63) / 64 * 64 : TILE_N;
constexpr int a_bytes = TILE_M * row_bytes, b_bytes = b_columns * row_bytes;
// The blocks of a cluster are a rectangle of tiles: those one below the other share B, those side by
// side share A. It may have several layers, each with a part of k: blocks one behind the other have
// the same tile of C.
constexpr int across = ACROSS, layers = LAYERS, down = CLUSTER / (across * layers);
constexpr int in_layer = down * across;
constexpr bool is_pair_across = CLUSTER == 2 && across == 2;
constexpr int chunk_bytes = 64 * row_bytes;  // of MN-major tiles: 64 elements by 64 of k
// Consumers share a tile, or take tiles in turn: one writes its results while the other multiplies.
constexpr int sharers = IN_TURN ? 1 : CONSUMERS;
constexpr int rows_of_consumer = TILE_M / sharers;
constexpr int products_of_consumer = rows_of_consumer / 64;
// How sums become C: one by one from registers; in boxes by the copy engine; in rows by threads; as
// they are, one by one, to the memory of a part of k.
enum StoreKind { store_each = 0, store_boxed = 1, store_rows = 2, store_partial = 3 };
// Factors of 8-bit operands: none; the same for all steps of k; another for each 128 steps.
enum ScaleKind { no_scales = 0, scales_of_all_steps = 1, scales_by_steps = 2 };
// The operand that may arrive while the kernel runs.
enum Awaited { awaits_none = 0, awaits_b = 1, awaits_a = 2 };
constexpr bool through_shared = C_STORE == store_boxed || C_STORE == store_rows;
constexpr int c_columns = row_bytes / sizeof(C_TYPE);  // of a box of C
// In a transposed product each consumer's 64 rows here are columns of C, and a box holds them in half
// of the tile's columns here, which are rows there.
constexpr int box_columns = TRANSPOSED ? TILE_N / 2 : c_columns;
constexpr int c_box_bytes = (TRANSPOSED ? box_columns : 64) * row_bytes;
// Whether C is added from the boxes, which the copy engine has filled with it.
constexpr bool adds_boxes = READS_C && C_STORE == store_boxed;
// Where rows of C begin anywhere, threads fill them. Elements of 32 bits are read where they are added:
// four lanes read a whole sector.
constexpr bool adds_rows = READS_C && C_STORE == store_rows && sizeof(C_TYPE) == 2;
constexpr bool adds_elements = READS_C && C_STORE == store_rows && !adds_rows;
constexpr bool adds_fetched = adds_boxes || adds_rows;
// Consumers in turn store by warps, which need not meet; those that share a tile are slower so.
constexpr bool by_warp = IN_TURN && C_STORE == store_boxed && !adds_boxes && !TRANSPOSED;
constexpr int c_box_rows = by_warp ? 16 : 64;  // that leave at once
constexpr int boxes_of_tile = (TILE_N + box_columns - 1) / box_columns;
// The last box of a tile that is not whole boxes wide has so many columns; 0 elsewhere. Where the copy
// engine stores it, it has a map of its own, and its rows lie one behind the other without a swizzle.
constexpr int tail_columns = TILE_N % box_columns;
constexpr bool has_tail_map = C_STORE == store_boxed && tail_columns > 0;
constexpr int tail_row_bytes = tail_columns * sizeof(C_TYPE);
constexpr int boxes_at_once = C_BOXES < boxes_of_tile ? C_BOXES : boxes_of_tile;
#ifdef K_TILES
// panel_tiles.cu reads A again and again, and writes C as fast as memory takes it.
constexpr bool c_leaves_first = true;
#else
constexpr bool c_leaves_first = false;
#endif
static_assert(boxes_of_tile % boxes_at_once == 0, "the boxes of a tile leave in equal lots");
// One consumer has all the registers that it can name.
constexpr bool moves_registers = CONSUMERS > 1;
constexpr int registers_of_producer = CONSUMERS == 2 ? 40 : 56;
constexpr int registers_of_consumer = CONSUMERS == 2 ? 232 : 152;
static_assert(TILE_M == 64 * products_of_consumer * sharers, "a wgmma has 64 rows");
static_assert(in_layer * layers == CLUSTER, "a layer of a cluster is a rectangle");
static_assert(TILE_N % 16 == 0, "boxes are written in two matrices of 8 columns at a time");
static_assert(layers == 1 || tail_columns == 0, "layers store equal parts of a tile");
static_assert(layers == 1 || (ONE_TILE && !IN_TURN && through_shared),
              "layers add up the sums of the one tile that they have, and store it in boxes");
static_assert(TILE_M % across == 0 && b_columns % down == 0, "each block loads whole rows");
static_assert(A_CLASSES == 1 || !A_MN_MAJOR, "a tile has rows of one class");
static_assert(!TRANSPOSED || (C_STORE == store_boxed && sizeof(C_TYPE) == 2),
              "a transposed product leaves in boxes of 16-bit elements");
static_assert(!IN_TURN || CONSUMERS >= 2, "one consumer cannot take turns");
static_assert(STEP == 16 || (!A_MN_MAJOR && !B_MN_MAJOR), "only 16-bit tiles may be MN-major");
static_assert(!promotes_sums || !IN_TURN, "a consumer alone would leave the tensor cores idle");

struct Maps {
  TensorMap a[A_CLASSES], b;
  TensorMap c[(has_tail_map ? 2 : 1) * A_CLASSES];  // of each class, then of its last boxes
#if AWAITS
  TensorMap there;  // the part of the awaited operand that need not arrive
#endif
};

struct Arguments {
  int m, n, k, batch;
  int tiles_m, tiles_n, splits, k_tiles, k_tiles_of_split, units;
  int shift[8];  // of each class
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
  float* partial;  // batch x splits x m x partial_pitch
  long long partial_pitch;
  Scales of_a, of_b;
  // Where an operand arrives: for each panel of columns of B, or rows of A, and each piece of it along
  // k, a word that is not 0 once it is there; and the tiles of k that are there from the beginning.
  const unsigned* arrived;
  int panel_width, pieces, k_tiles_of_piece, first_there, end_there;
};

// A unit of this block: `row` counts rows of the class.
struct BlockUnit {
  int row, column, row_class, split, batch;
  int first, last;  // tiles of k
  bool shares_a;    // with the other block of a pair at its side
};

// The place of a block in its cluster: the layer, and the row and column of the layer's rectangle.
__device__ inline int layer_of_block() { return layers == 1 ? 0 : cluster_rank() / in_layer; }
__device__ inline int row_in_cluster() {
  return down == CLUSTER ? cluster_rank() : cluster_rank() % down;
}
__device__ inline int column_in_cluster() {
  return across == 1 ? 0 : cluster_rank() / down % across;
}

__device__ inline BlockUnit unit_of_block(const Arguments& p, int number) {
  WorkUnit unit;
#if ONE_TILE
  // A small product takes hardly longer than the divisions below.
  unit = {static_cast<int>(blockIdx.x) / down, static_cast<int>(blockIdx.y), 0,
          static_cast<int>(blockIdx.z) / layers};
  const bool is_last_column = false;
#else
  const int pairs = p.tiles_m * (p.tiles_n / across) * p.batch;
  const bool is_last_column = is_pair_across && number >= pairs;
  if (is_last_column) {
    // It has no neighbour: a cluster has two tiles one below the other, and nothing in common.
    const int rows = (p.tiles_m + across - 1) / across, left = number - pairs;
    unit = {left % rows * across + cluster_rank(), p.tiles_n - 1, 0, left / rows};
  } else {
    const int rows = p.tiles_m / down, columns = p.tiles_n / across;
    // The tiles of the panel that arrives first are first.
    if (AWAITS == awaits_b) {
      const int of_panel = max(p.panel_width / (TILE_N * across), 1);
      const int first = number / (rows * of_panel) * of_panel;
      unit = work_unit(number - first * rows, rows, min(of_panel, columns - first), 1, GROUP_ROWS);
      unit.tile_n += first;
    } else if (AWAITS == awaits_a) {
      const int of_panel = max(p.panel_width / (TILE_M * down), 1);
      const int first = number / (columns * of_panel) * of_panel;
      unit = work_unit(number - first * columns, min(of_panel, rows - first), columns, 1,
                       GROUP_ROWS);
      unit.tile_m += first;
    } else {
      unit = work_unit(number, rows, columns, p.splits, GROUP_ROWS);
    }
    unit.tile_n = unit.tile_n * across + column_in_cluster();
  }
#endif
  const int first = layers > 1 ? layer_of_block() * p.k_tiles / layers
                               : unit.split * p.k_tiles_of_split;
  const int last = layers > 1 ? (layer_of_block() + 1) * p.k_tiles / layers
                              : min(p.k_tiles, first + p.k_tiles_of_split);
  return {(unit.tile_m / A_CLASSES * down + row_in_cluster()) * TILE_M,
          unit.tile_n * TILE_N,
          unit.tile_m % A_CLASSES,
          unit.split,
          unit.batch,
          first,
          last,
          !is_last_column};
}

// Whether box `number` of a tile is its narrow last one.
__device__ inline bool is_tail(int number) {
  return has_tail_map && number == boxes_of_tile - 1;
}
// The map of box `number` of a unit's tile of C.
__device__ inline const TensorMap& map_of_box(const Maps& maps, const BlockUnit& unit, int number) {
  return maps.c[unit.row_class + (is_tail(number) ? A_CLASSES : 0)];
}
// The column behind the unit's tile, or behind C's last.
__device__ inline int end_of_columns(const Arguments& p, const BlockUnit& unit) {
  return tail_columns > 0 ? min(p.n, unit.column + TILE_N) : p.n;
}

// The row of C that is row `row` of the class.
__device__ inline int row_of_c(const BlockUnit& unit, int row) {
  return row * A_CLASSES + unit.row_class;
}

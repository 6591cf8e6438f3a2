#include "operations/gemm/hopper/tensor_tile_layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

TileOperand tile_operand(const GemmOperand& operand, std::int64_t rows, std::int64_t k,
                         bool k_contiguous, std::int64_t batch) {
  TileOperand result;
  result.rows = {.type = operand.type,
                 .rows = k_contiguous ? rows : k,
                 .columns = k_contiguous ? k : rows,
                 .pitch = operand.leading,
                 .batch = batch,
                 .batch_stride = operand.batch_stride};
  result.mn_major = !k_contiguous;
  if (result.mn_major && size_of(operand.type) != 2) {
    result.repacked = result.transposed = true;
    result.mn_major = false;
  }
  return result;
}

std::int64_t bytes_of_stage(const TensorTile& tile, const TileLayout& layout) {
  const int rows = tile.m + (tile.panel > 0 ? 0 : columns_of_b(tile, layout));
  return rows * tile_row_bytes;
}

}  // namespace

bool promotes_sums(const GemmProblem& problem) {
  return has_float8_operands(problem.precision);
}

std::int64_t k_tiles_of(const GemmProblem& problem) {
  return groups_of(problem.shape.k * static_cast<std::int64_t>(size_of(problem.a.type)),
                   tile_row_bytes);
}

GemmProblem problem_of(const TensorTile& tile, const GemmProblem& problem) {
  return tile.transposed ? transposed(problem) : problem;
}

RowsInMemory rows_of_c(const GemmProblem& p, const TensorTile& tile) {
  return {.type = p.c.type,
          .rows = tile.transposed ? p.shape.n : p.shape.m,
          .columns = tile.transposed ? p.shape.m : p.shape.n,
          .pitch = p.c.leading,
          .batch = p.batch,
          .batch_stride = p.c.batch_stride};
}

std::int64_t resident_clusters(const TensorTile& tile, std::int64_t sm_count) {
  // Blocks of clusters of so many that an H200's 132 SMs hold at once, by
  // cudaOccupancyMaxActiveClusters: a cluster has to fit in one part of the chip.
  constexpr std::array<std::int64_t, 9> of_132{0, 132, 132, 117, 120, 110, 102, 105, 120};
  return sm_count * of_132.at(static_cast<std::size_t>(tile.cluster)) / 132 / tile.cluster;
}

TileLayout layout_of(const GemmProblem& p, const TensorTile& tile) {
  TileLayout layout{
      .a = tile_operand(p.a, p.shape.m, p.shape.k, p.a.order == Order::row_major, p.batch),
      .b = tile_operand(p.b, p.shape.n, p.shape.k, p.b.order == Order::column_major, p.batch)};
  const auto is_aligned = [](const TileOperand& operand) {
    return operand.repacked ||
           (operand.rows.pitch_bytes() % copy_alignment == 0 && operand.rows.batch_fits_map());
  };
  if (!is_aligned(layout.b) || tile.copies_b) layout.b.repacked = true;
  if (tile.copies_a) layout.a.repacked = true;
  if (!is_aligned(layout.a)) {
    const int classes = residue_groups(layout.a.rows.pitch_bytes());
    // Rows far apart are copied more slowly than neighbours: below this many tiles a class, one
    // copy of A costs less. Blocks that share rows read them half as often.
    const std::int64_t least_tiles = tile.across > 1 ? 1 : 8;
    const bool fills_tiles = groups_of(p.shape.m, classes) >= least_tiles * tile.m;
    // The rows of a transposed tile are columns of C: the box of a class of them would have gaps.
    if (!tile.transposed && layout.b.mn_major && !layout.a.mn_major && fills_tiles &&
        tile.panel == 0 && layout.a.rows.batch_fits_map()) {
      layout.classes = classes;
      layout.a_begins_anywhere = true;
    } else {
      layout.a.repacked = true;
    }
  }
  const auto element = static_cast<std::int64_t>(size_of(p.c.type));
  const bool c_is_aligned = p.c.leading * element % copy_alignment == 0 &&
                            rows_of_c(p, tile).columns * element % copy_alignment == 0 &&
                            (p.batch == 1 || p.c.batch_stride * element % copy_alignment == 0);
  if (tile.splits > 1) {
    layout.store = Store::partial;
  } else if (c_is_aligned) {
    layout.store = Store::boxed;
  }
  layout.adds_rows = p.beta != 0.0 && layout.store == Store::rows && element == 2;
  return layout;
}

int columns_of_b(const TensorTile& tile, const TileLayout& layout) {
  constexpr int columns_of_box = 64;
  return layout.b.mn_major ? static_cast<int>(groups_of(tile.n, columns_of_box)) * columns_of_box
                           : tile.n;
}

int tail_columns_of(const TensorTile& tile, DataType c_type) {
  const int of_box = static_cast<int>(tile_row_bytes) / static_cast<int>(size_of(c_type));
  return tile.transposed ? 0 : tile.n % of_box;
}

std::int64_t boxes_of_rows_of(const TensorTile& tile, DataType c_type) {
  return tile.transposed
             ? 2
             : groups_of(tile.n * static_cast<std::int64_t>(size_of(c_type)), tile_row_bytes);
}

std::int64_t received_sums(const TensorTile& tile, DataType c_type) {
  const std::int64_t of_rows = boxes_of_rows_of(tile, c_type);
  const std::int64_t at_once = std::min<std::int64_t>(tile.boxes, of_rows);
  const std::int64_t lots = tile.m / 64 * (of_rows / at_once);
  return (tile.layers - 1) * groups_of(lots, tile.layers) * 64 * (tile.n * at_once / of_rows);
}

bool received_fits(const TensorTile& tile, const TileLayout& layout, DataType c_type) {
  return received_sums(tile, c_type) * static_cast<std::int64_t>(sizeof(float)) <=
         tile.stages * bytes_of_stage(tile, layout);
}

std::size_t shared_bytes_of(const TensorTile& tile, const TileLayout& layout, DataType c_type) {
  const Store store = layout.store;
  const auto b_tile = static_cast<std::size_t>(tile_row_bytes * columns_of_b(tile, layout));
  const auto stage = static_cast<std::size_t>(bytes_of_stage(tile, layout));
  constexpr std::size_t barriers = 16, alignment = 1024;
  const auto box = static_cast<std::size_t>((tile.transposed ? tile.n / 2 : 64) * tile_row_bytes);
  const std::size_t boxes =
      static_cast<std::size_t>(std::min<std::int64_t>(tile.boxes, boxes_of_rows_of(tile, c_type))) *
      box;
  const bool through_shared = store == Store::boxed || store == Store::rows;
  constexpr std::size_t tails = 64 * 16;  // a chunk for each row of a consumer's boxes
  return static_cast<std::size_t>(tile.stages) * (stage + barriers) +
         static_cast<std::size_t>(tile.panel) * (b_tile + barriers) +
         (through_shared ? static_cast<std::size_t>(tile.consumers) * boxes : 1024) +
         (layout.adds_rows ? static_cast<std::size_t>(tile.consumers) * tails : 0) + 2 * alignment;
}

}  // namespace tilescope::operations

#include "operations/gemm/hopper/tensor_tile_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "operations/gemm/problem/time_model.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// Cycles and bytes per cycle of an H200, fitted to thousands of plans of products drawn at random
// (docs/results/products_random_h200.md).
constexpr double launch_cycles = 7010.0;      // until the first block runs
constexpr double bytes_from_memory = 2090.0;  // per cycle, whole chip
// The share of the SMs below which memory's rate falls, and how.
constexpr double sms_for_memory = 0.41, loss_of_few = 0.42;
// Bytes per cycle into one SM's shared memory: where blocks have several tiles each, where they
// have one, and for rows that begin half a cache line behind one, or anywhere in one.
constexpr double tile_bytes_per_sm = 50.7, bytes_of_only_tile = 85.6;
constexpr std::int64_t line_bytes = 128;
constexpr double bytes_of_half_lines = 42.0, bytes_of_lines_in_pieces = 29.0;
// The part of a block's loads that sharing a tile of a cluster saves of what it could; and where
// blocks have one tile each, of operands whose rows begin with cache lines.
constexpr double saved_by_sharing = 0.72, saved_of_only_tile = 0.55;
// Elements of a tile of C, for one tile of k; the share of that rate that one consumer alone
// reaches with gaps between its products; and what each tile of k costs beside them.
constexpr double elements_per_cycle = 27.4, of_one_consumer = 0.98, step_cycles = 64.4;
constexpr double late_copies = 1.057;
// Operands beyond which a group of high tiles reads fewer rows and columns from memory.
constexpr double bytes_beyond_l2 = 512e6;
constexpr double fill_cycles = 1540.0;  // from the first copy to the first product
constexpr double store_cycles = 202.0, stored_elements_per_cycle = 4.9, of_transposed = 0.94;
// The part of a store, or of the products of a tile where those take less, that hides behind the
// other consumer's products: where the L2 cache keeps A and B and rows of C begin with lines, and
// elsewhere.
constexpr double bytes_in_l2 = 70e6, hidden_near = 0.81, hidden_far = 0.59;
// C in rows that begin anywhere: elements of 16 bits, and of 32, that one consumer stores, and two
// that share a tile; what each row of a tile costs beside them; what memory writes of them; and of
// the ends of a row of a tile, which are parts of sectors.
constexpr double stored_in_rows_16 = 4.6, stored_in_rows_32 = 3.75;
constexpr double stored_by_two_16 = 6.57, stored_by_two_32 = 5.92;
constexpr double row_cycles = 7.7, row_cycles_by_two = 9.35;
constexpr double written_in_rows_16 = 1.1, written_in_rows_32 = 2.0, bytes_of_ends = 35.0;
// A kernel before the tiles that copies operands, or one behind them that adds up parts of k, and
// bytes per cycle of both.
constexpr double copying_cycles = 2500.0, copied_bytes = 2030.0;
constexpr double adding_cycles = 2770.0, added_bytes = 2810.0;
// Until the blocks of a cluster have met.
constexpr double cluster_cycles = 292.0;
// For 64 x 256 beside the next tile's products: where rows of C begin with lines, elsewhere, and
// the more where C is added.
constexpr double panel_store_cycles = 4000.0, panel_store_in_pieces = 6290.0, panel_addend = 3400.0;

// The time of a tile's shape beside its elements. Small ones read what the L2 cache does not keep
// more often. Of the two largest, a group of the high ones is a squarer part of C: it reads fewer
// rows and columns from memory.
double slowdown(const TensorTile& tile, double operand_bytes) {
  if (tile.m * tile.n < 128 * 256) return operand_bytes > bytes_in_l2 ? 1.02 : 1.0;
  const bool is_high = tile.m > 128;
  return is_high == (operand_bytes > bytes_beyond_l2) ? 1.0 : 1.01;
}

// Cycles for which a block that has one tile waits, for each tile of k, until all that share it
// have room and all parts of it have come. Columns of four and more blocks do not wait.
double sharing_cycles(const TensorTile& tile) {
  constexpr double column_of_two = 40.0, row_of_two = 70.0, longer_row = 45.0, rectangle = 125.0;
  if (tile.across > 1 && tile.down() > 1) return rectangle;
  if (tile.across > 1) return tile.across == 2 ? row_of_two : longer_row;
  return tile.cluster == 2 ? column_of_two : 0.0;
}

// Cycles of shared memory for a tile of k. The tensor cores read and the copy engine writes 128
// bytes a cycle, and each 64 rows of the tile read all of B's.
double shared_cycles(const TensorTile& tile) {
  constexpr double overlap = 0.95;
  return overlap * (tile.m / 64.0 * (64.0 + tile.n) + tile.m + tile.n);
}

double bytes_of(const RowsInMemory& rows) {
  return static_cast<double>(rows.rows) * static_cast<double>(rows.columns) *
         static_cast<double>(rows.batch) * static_cast<double>(size_of(rows.type));
}

bool begins_with_lines(const TileOperand& operand) {
  return operand.repacked || operand.rows.pitch_bytes() % line_bytes == 0;
}

// Bytes per cycle into one SM that has `share` of the SMs that read beside it: fewer get more of
// what the L2 cache gives. `whole` where boxes begin with cache lines, less where they begin
// `behind` one.
double rate_behind(std::int64_t behind, double whole, double share) {
  constexpr double gain_of_few = 0.6;
  if (behind == 0) return whole;
  const double all = behind == line_bytes / 2 ? bytes_of_half_lines : bytes_of_lines_in_pieces;
  return std::min(whole, all / std::pow(share, gain_of_few));
}

double rate_of(const TileOperand& operand, double whole, double share = 1.0) {
  return rate_behind(begins_with_lines(operand) ? 0 : operand.rows.pitch_bytes() % line_bytes,
                     whole, share);
}

// The same for the columns of B of a tile. Where they lie along its rows, and a tile is not whole
// lines wide, the boxes of most blocks begin behind a line.
double rate_of_b(const TensorTile& tile, const TileLayout& layout, double whole, double share) {
  constexpr double most_blocks = 0.8;
  const std::int64_t width = tile.n * static_cast<std::int64_t>(size_of(layout.b.rows.type));
  if (!layout.b.mn_major || !begins_with_lines(layout.b)) return rate_of(layout.b, whole, share);
  const double behind = rate_behind(width % line_bytes, whole, share);
  return 1.0 / (most_blocks / behind + (1.0 - most_blocks) / whole);
}

// The part of a tile of an operand that counts as loaded by a block that shares it with `blocks` -
// 1 others.
double part_loaded(const TileOperand& operand, int blocks, bool has_one_tile) {
  const bool is_only = has_one_tile && begins_with_lines(operand);
  const double saved = is_only ? saved_of_only_tile : saved_by_sharing;
  return 1.0 - saved * (1.0 - 1.0 / blocks);
}

// The tile with every combination of copied operands: operands that it could read in place are
// copied too, where that might pay.
std::vector<TensorTile> with_copies(const TensorTile& tile, const TileLayout& layout) {
  const auto may_pay = [&](const TileOperand& operand) {
    return tile.splits == 1 && rate_of(operand, tile_bytes_per_sm) == bytes_of_lines_in_pieces;
  };
  std::vector<TensorTile> ways;
  for (const bool copies_a : {false, true}) {
    for (const bool copies_b : {false, true}) {
      if ((copies_a && (!may_pay(layout.a) || layout.a_begins_anywhere)) ||
          (copies_b && !may_pay(layout.b))) {
        continue;
      }
      ways.push_back(tile);
      ways.back().copies_a = copies_a;
      ways.back().copies_b = copies_b;
    }
  }
  return ways;
}

// Cycles for which a tile waits for what C held: the first boxes arrive while the tile is
// multiplied, the others behind the store of those before them.
double addend_cycles(const GemmProblem& problem, const TensorTile& tile, Store store) {
  constexpr double cycles_of_lot = 1370.0, cycles_of_lot_in_rows = 1680.0;
  const int products = tile.m / 64 / (tile.in_turn ? 1 : tile.consumers);
  const auto element = static_cast<std::int64_t>(size_of(problem.c.type));
  const int boxes =
      tile.transposed ? 2 : static_cast<int>(groups_of(tile.n * element, tile_row_bytes));
  const int lots = products * boxes / std::min(tile.boxes, boxes);
  if (store == Store::rows) {
    return cycles_of_lot_in_rows * (element == 2 ? lots : products * boxes);
  }
  return store == Store::boxed ? cycles_of_lot * (lots - 1) : 0.0;
}

// Cycles for the store of a tile, with what it adds.
double store_of_tile(const GemmProblem& problem, const TensorTile& tile, const TileLayout& layout) {
  const double elements = static_cast<double>(tile.m * tile.n);
  const double added = problem.beta != 0.0 ? addend_cycles(problem, tile, layout.store) : 0.0;
  if (layout.store != Store::rows) {
    const double rate = stored_elements_per_cycle * (tile.transposed ? of_transposed : 1.0);
    return store_cycles + elements / rate + added;
  }
  const bool is_wide = size_of(problem.c.type) > 2;
  const bool by_one = tile.in_turn || tile.consumers == 1;
  const double rate = by_one ? (is_wide ? stored_in_rows_32 : stored_in_rows_16)
                             : (is_wide ? stored_by_two_32 : stored_by_two_16);
  return store_cycles + elements / rate + tile.m * (by_one ? row_cycles : row_cycles_by_two) +
         added;
}

// Bytes of C that memory reads and writes: more are written where rows begin anywhere.
double traffic_of_c(const GemmProblem& problem, const TensorTile& tile, const TileLayout& layout) {
  const auto element = static_cast<double>(size_of(problem.c.type));
  const double in_rows = (element > 2.0 ? written_in_rows_32 : written_in_rows_16) +
                         bytes_of_ends / (tile.n * element);
  const double written = layout.store == Store::rows ? in_rows : 1.0;
  const double read = problem.beta != 0.0 ? 1.0 : 0.0;
  return static_cast<double>(problem.shape.m * problem.shape.n * problem.batch) * element *
         (read + written);
}

double predicted_cycles(const GemmProblem& problem, const TensorTile& tile,
                        const TileLayout& layout, int sm_count) {
  const MatmulShape& s = problem.shape;
  const std::int64_t tile_k = tile_row_bytes / static_cast<std::int64_t>(size_of(problem.a.type));
  const std::int64_t rows = groups_of(groups_of(s.m, layout.classes), tile.m * tile.down()) *
                            tile.down() * layout.classes;
  // Clusters that are no pair compute tiles beyond the last column.
  const std::int64_t columns = groups_of(s.n, tile.n);
  const std::int64_t computed =
      tile.is_pair_across() ? columns : groups_of(columns, tile.across) * tile.across;
  const double units = static_cast<double>(rows * computed * tile.splits * problem.batch);
  const double blocks = static_cast<double>(resident_clusters(tile, sm_count) * tile.cluster);
  const double rounds = std::ceil(units / blocks);
  const double depth = static_cast<double>(groups_of(groups_of(s.k, tile_k), tile.splits));
  const double elements = static_cast<double>(tile.m * tile.n);
  const double rate = elements_per_cycle * (tile.consumers == 1 ? of_one_consumer : 1.0);
  const double operand_bytes = bytes_of(layout.a.rows) + bytes_of(layout.b.rows);
  const bool hides = tile.in_turn && layout.store == Store::boxed;
  const bool has_one_tile = rounds == 1.0;
  const double whole = has_one_tile ? bytes_of_only_tile : tile_bytes_per_sm;
  const double used = std::min(units, blocks);
  const double share = has_one_tile ? used / blocks : 1.0;
  // Consumers in turn copy on while one of them stores.
  const double of_loads = hides && !has_one_tile ? 0.93 : 1.0;
  const double loaded_a = tile.m * part_loaded(layout.a, tile.across, has_one_tile);
  const double loaded_b =
      columns_of_b(tile, layout) * part_loaded(layout.b, tile.down(), has_one_tile);
  const double loads = of_loads * tile_row_bytes *
                       (loaded_a / rate_of(layout.a, whole, share) +
                        loaded_b / rate_of_b(tile, layout, whole, share));
  // Where sums are promoted, tiles are narrower, and shared memory decides: as measured.
  const bool is_bound_by_reads = has_one_tile || promotes_sums(problem);
  const double waits = has_one_tile ? sharing_cycles(tile) : 0.0;
  constexpr double beside_loads = 0.5;
  const double step = std::max({elements / rate, loads + beside_loads * waits,
                                is_bound_by_reads ? shared_cycles(tile) + waits : 0.0});
  // Three stages do not cover the time that a copy takes.
  const double late = tile.stages <= 3 && (depth > 3.0 || rounds > 1.0) ? late_copies : 1.0;
  const double multiply = late * depth * (step_cycles + slowdown(tile, operand_bytes) * step);
  const double store = store_of_tile(problem, tile, layout);
  double block = rounds * (multiply + store);
  // Boxes that begin anywhere in a cache line are written in more pieces.
  const bool stores_lines =
      problem.c.leading * static_cast<std::int64_t>(size_of(problem.c.type)) % tile_row_bytes == 0;
  if (hides) {
    const double hidden = stores_lines && operand_bytes <= bytes_in_l2 ? hidden_near : hidden_far;
    block -= (rounds - 1.0) * hidden * std::min(store, multiply);
  }
  if (tile.panel > 0) {
    const double products = depth * elements / elements_per_cycle;
    const double panel_store = (stores_lines ? panel_store_cycles : panel_store_in_pieces) +
                               (problem.beta != 0.0 ? panel_addend : 0.0);
    const double first_panel = depth * tile.n * tile_row_bytes / tile_bytes_per_sm;
    block = first_panel + rounds * std::max(products, (products + panel_store) / 2.0) + store;
  }
  const double c_bytes = static_cast<double>(s.m * s.n * problem.batch);
  const double traffic = operand_bytes + traffic_of_c(problem, tile, layout);
  // SMs without a tile in the last round leave some of memory's rate to the others.
  block *= 1.0 - 0.11 * (1.0 - units / (rounds * blocks));
  const double memory =
      traffic /
      (bytes_from_memory * std::pow(std::min(1.0, used / sm_count / sms_for_memory), loss_of_few));
  double cycles = fill_cycles + overlapped(block, memory, 4.0);
  if (tile.cluster > 1) cycles += cluster_cycles + 0.009 * block;
  // Copies of both operands are one launch, unless one is transposed.
  if (layout.a.repacked || layout.b.repacked) cycles += copying_cycles;
  if (layout.a.transposed || layout.b.transposed) cycles += copying_cycles;
  for (const TileOperand* operand : {&layout.a, &layout.b}) {
    if (operand->repacked) cycles += 2.0 * bytes_of(operand->rows) / copied_bytes;
  }
  if (tile.splits > 1) cycles += adding_cycles + 8.0 * tile.splits * c_bytes / added_bytes;
  return launch_cycles + cycles;
}

// A thread's.
int sums_of(const TensorTile& tile) {
  return tile.m / 64 / (tile.in_turn ? 1 : tile.consumers) * tile.n / 2;
}

// Whether the sums of a consumer's part of a tile fit in its threads' registers, of which each of
// three consumers has fewer, and are promoted beside products.
bool sums_fit(const TensorTile& tile, const GemmProblem& problem) {
  // One consumer promotes while another multiplies.
  if (tile.in_turn && promotes_sums(problem)) return false;
  const int sums = sums_of(tile) + (promotes_sums(problem) ? tile.n / 2 : 0);
  return sums <= (tile.consumers == 3 ? 96 : 192);
}

// Tiles that keep the sums of a warpgroup within the registers.
std::vector<TensorTile> shapes(const GemmProblem& problem) {
  std::vector<TensorTile> tiles;
  for (const auto& [m, n] :
       {std::pair{128, 256}, std::pair{256, 128}, std::pair{128, 192}, std::pair{128, 128},
        std::pair{128, 64}, std::pair{256, 192}, std::pair{256, 64}}) {
    tiles.push_back({.m = m, .n = n, .consumers = 2});
  }
  for (const int n : {192, 128, 64}) tiles.push_back({.m = 192, .n = n, .consumers = 3});
  for (const auto& [m, n] : {std::pair{128, 128}, std::pair{64, 256}, std::pair{64, 192},
                             std::pair{64, 128}, std::pair{64, 64}}) {
    tiles.push_back({.m = m, .n = n, .consumers = 2, .in_turn = true});
  }
  for (const int n : {256, 192, 128, 64}) tiles.push_back({.m = 64, .n = n, .consumers = 1});
  std::erase_if(tiles, [&](const TensorTile& tile) { return !sums_fit(tile, problem); });
  return tiles;
}

// Sets the number of stages; false if too few fit, or if the sums leave too few registers to what
// the threads fetch of C.
bool fit(TensorTile& tile, const GemmProblem& problem, const TileLayout& layout,
         const DeviceProperties& device) {
  constexpr int most_stages = 8, least_stages = 2, most_sums = 160;
  if (layout.adds_rows && sums_of(tile) > most_sums) return false;
  tile.stages = most_stages;
  while (tile.stages >= least_stages &&
         shared_bytes_of(tile, layout, problem.c.type) > device.shared_bytes_per_block_optin) {
    --tile.stages;
  }
  return tile.stages >= least_stages;
}

// Blocks of a cluster one below the other, and side by side.
constexpr std::array<std::pair<int, int>, 10> rectangles{
    {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {1, 2}, {2, 2}, {4, 2}, {1, 4}, {2, 4}, {1, 8}}};

// Whether most blocks of the tile's cluster have a tile of C to compute.
bool is_filled(const TensorTile& tile, const GemmProblem& problem) {
  const auto has_tiles = [](std::int64_t extent, int of_tile, int blocks) {
    return blocks == 1 || extent > static_cast<std::int64_t>(of_tile) * (blocks / 2);
  };
  return has_tiles(problem.shape.m, tile.m, tile.down()) &&
         has_tiles(problem.shape.n, tile.n, tile.across);
}

// Transposed tiles that can compute the problem. Their width is not bound to boxes of C, so that
// one of them divides C with little left over; clusters read rows of A once.
std::vector<TensorTile> transposed_tiles(const GemmProblem& problem,
                                         const DeviceProperties& device) {
  if (size_of(problem.a.type) > 2 || size_of(problem.c.type) != 2) return {};
  std::vector<TensorTile> tiles;
  TensorTile tile{.transposed = true};
  const GemmProblem transposed = problem_of(tile, problem);
  const TileLayout layout = layout_of(transposed, tile);
  if (layout.store != Store::boxed) return {};
  constexpr int least_n = 48, most_n = 256, step = 16;
  struct Height {
    int m, consumers;
    bool in_turn = false;
  };
  for (const auto& [m, consumers, in_turn] :
       {Height{64, 1}, Height{128, 2}, Height{128, 2, true}, Height{192, 3}, Height{256, 2}}) {
    for (int n = least_n; n <= most_n; n += step) {
      tile.m = m, tile.n = n, tile.consumers = consumers, tile.in_turn = in_turn;
      if (!sums_fit(tile, problem)) continue;
      for (const auto& [down, across] : rectangles) {
        tile.cluster = down * across;
        tile.across = across;
        if (!is_filled(tile, transposed)) continue;
        tile.boxes = 2;
        if (!fit(tile, problem, layout, device)) continue;
        tiles.push_back(tile);
        const int stages = tile.stages;
        tile.boxes = 1;  // may leave room for one more stage
        if (fit(tile, problem, layout, device) && tile.stages > stages) tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

std::vector<int> splits_of(const GemmProblem& problem, const TensorTile& tile, int sm_count) {
  const std::int64_t tiles = groups_of(problem.shape.m, tile.m * tile.cluster) * tile.cluster *
                             groups_of(problem.shape.n, tile.n) * problem.batch;
  const std::int64_t k_tiles = groups_of(
      problem.shape.k * static_cast<std::int64_t>(size_of(problem.a.type)), tile_row_bytes);
  constexpr std::int64_t least_k_tiles = 4;  // tiles of k of a part
  std::vector<int> splits{1};
  if (problem.precision == Precision::int8) return splits;  // partial sums are float32
  for (const std::int64_t blocks : {sm_count / 2, sm_count, 2 * sm_count}) {
    const std::int64_t split = std::min(blocks / tiles, k_tiles / least_k_tiles);
    if (split > splits.back()) splits.push_back(static_cast<int>(split));
  }
  return splits;
}

}  // namespace

std::optional<TensorTile> best_panel_tile(const GemmProblem& problem,
                                          const DeviceProperties& device) {
  if (promotes_sums(problem)) return std::nullopt;
  TensorTile tile{.m = 64, .n = 256, .consumers = 2, .in_turn = true};
  tile.panel = static_cast<int>(
      std::min<std::int64_t>(k_tiles_of(problem), std::numeric_limits<std::int16_t>::max()));
  for (const int boxes : {4, 2}) {
    tile.boxes = boxes;
    // A of two tiles where k is longest.
    constexpr int least_stages = 8;
    if (fit(tile, problem, layout_of(problem, tile), device) && tile.stages >= least_stages) {
      return tile;
    }
  }
  return std::nullopt;
}

double expected_cycles(const GemmProblem& problem, const TensorTile& tile,
                       const DeviceProperties& device) {
  const GemmProblem tiled = problem_of(tile, problem);
  return predicted_cycles(tiled, tile, layout_of(tiled, tile), device.sm_count);
}

std::vector<TensorTile> tensor_tile_candidates(const GemmProblem& problem,
                                               const DeviceProperties& device) {
  std::vector<std::pair<double, TensorTile>> candidates;
  const auto add = [&](const TensorTile& tile, const TileLayout& layout) {
    candidates.emplace_back(predicted_cycles(problem, tile, layout, device.sm_count), tile);
  };
  if (const auto panel = best_panel_tile(problem, device)) {
    // Only stores by the copy engine hide behind the next tile.
    const TileLayout layout = layout_of(problem, *panel);
    if (layout.store == Store::boxed) add(*panel, layout);
  }
  for (TensorTile tile : shapes(problem)) {
    for (const auto& [down, across] : rectangles) {
      tile.cluster = down * across;
      tile.across = across;
      if (!is_filled(tile, problem)) continue;
      for (const int splits : splits_of(problem, tile, device.sm_count)) {
        if (across > 1 && splits > 1) continue;
        tile.splits = splits;
        const std::int64_t boxes_of_tile =
            groups_of(tile.n * static_cast<std::int64_t>(size_of(problem.c.type)), tile_row_bytes);
        // More boxes store sooner, fewer leave room for one more stage.
        for (const int boxes : {2, 3, 4}) {
          if (boxes_of_tile % std::min<std::int64_t>(boxes, boxes_of_tile) != 0) continue;
          tile.boxes = boxes;
          for (TensorTile way : with_copies(tile, layout_of(problem, tile))) {
            const TileLayout layout = layout_of(problem, way);
            if (fit(way, problem, layout, device)) add(way, layout);
          }
        }
      }
    }
  }
  const std::vector<TensorTile> transposed_of = transposed_tiles(problem, device);
  if (!transposed_of.empty()) {
    const GemmProblem transposed = problem_of(transposed_of.front(), problem);
    const TileLayout layout = layout_of(transposed, transposed_of.front());
    for (const TensorTile& tile : transposed_of) {
      candidates.emplace_back(predicted_cycles(transposed, tile, layout, device.sm_count), tile);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TensorTile> tiles;
  for (const auto& [cycles, tile] : candidates) tiles.push_back(tile);
  return tiles;
}

}  // namespace tilescope::operations

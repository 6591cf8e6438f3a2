#include "operations/gemm/hopper/tensor_tile_time.hpp"

#include <algorithm>
#include <cmath>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// Cycles and bytes per cycle of an H200, fitted to thousands of plans of products drawn at random
// (docs/results/products_random_h200.md).
constexpr double launch_cycles = 7010.0;      // until the first block runs
constexpr double bytes_from_memory = 1922.0;  // per cycle, whole chip
// The share of the SMs below which memory's rate falls, and how.
constexpr double sms_for_memory = 0.41, loss_of_few = 0.42;
// Bytes per cycle that arrive in one SM's shared memory; requests per cycle that the L2 cache
// answers for each SM where all ask, and how that rate falls with their number; and its requests
// for a row of a box that begins half a cache line behind one, or anywhere in one.
constexpr std::int64_t line_bytes = 128;
constexpr double arriving_bytes = 111.0, requests_per_cycle = 0.567, loss_of_many = 0.72;
constexpr double requests_of_half_lines = 1.35, requests_of_pieces = 1.88;
// Elements of a tile of C, for one tile of k, and what each tile of k costs beside them.
constexpr double elements_per_cycle = 30.1, step_cycles = 47.1;
// From the request of a tile of k to its arrival, and what a cluster, and a tile's loads, add to
// it.
constexpr double latency_cycles = 688.0, latency_of_cluster = 288.0, latency_of_loads = 1.3;
// Operands beyond which a group of high tiles reads fewer rows and columns from memory.
constexpr double bytes_beyond_l2 = 512e6;
constexpr double fill_cycles = 1828.0;  // from the first copy to the first product
constexpr double store_cycles = 233.0, stored_elements_per_cycle = 5.2;
// The part of a store, or of the products of a tile where those take less, that hides behind the
// other consumer's products: where the L2 cache keeps A and B and rows of C begin with lines, and
// elsewhere.
constexpr double bytes_in_l2 = 70e6, hidden_near = 0.644, hidden_far = 0.633;
// C in rows that begin anywhere: elements of 16 bits, and of 32, that one consumer stores, and two
// that share a tile; what each row of a tile costs beside them; what memory writes of them; and of
// the ends of a row of a tile, which are parts of sectors.
constexpr double stored_in_rows_16 = 4.6, stored_in_rows_32 = 3.75;
constexpr double stored_by_two_16 = 6.57, stored_by_two_32 = 5.92;
constexpr double row_cycles = 7.7, row_cycles_by_two = 9.35;
constexpr double written_in_rows_16 = 1.1, written_in_rows_32 = 2.0, bytes_of_ends = 35.0;
// A kernel before the tiles that copies operands, or turns one, or one behind them that adds up
// parts of k, and their bytes per cycle.
constexpr double copying_cycles = 1850.0, turning_cycles = 4900.0, copied_bytes = 1500.0;
constexpr double adding_cycles = 2890.0, added_bytes = 2880.0;
// Until another consumer goes on where consumers take tiles in turn, and what a tile of k of one
// consumer costs beside that of two.
constexpr double turn_cycles = 633.0, step_in_turn = 12.1;
// The part of its time that a block with one tile loses where all SMs have one, if that is not of
// the largest; and factors for blocks with one tile and with several, so that times on average stay
// those with which the models of other kernels are compared.
constexpr double loss_of_all_sms = 0.0305, level_of_one = 1.035, level_of_many = 1.006;
// Until the blocks of a cluster have met.
constexpr double cluster_cycles = 294.0;
// For 64 x 256 beside the next tile's products: where rows of C begin with lines, elsewhere, and
// the more where C is added.
constexpr double panel_bytes = 50.7;  // per cycle, until B is there
constexpr double panel_store_cycles = 4000.0, panel_store_in_pieces = 6290.0, panel_addend = 3400.0;

// Two times that overlap but for what is late in either, as a norm of them. Thousands of plans are
// compared, and roots of powers of two take a tenth of std::pow's time.
double overlapped_4(double one, double other) {
  const double one_2 = one * one, other_2 = other * other;
  return std::sqrt(std::sqrt(one_2 * one_2 + other_2 * other_2));
}
// The longest of three, a little longer where others are nearly as long.
double busiest_of(double one, double two, double three) {
  const auto power_8 = [](double x) { return x * x * (x * x) * (x * x) * (x * x); };
  return std::sqrt(std::sqrt(std::sqrt(power_8(one) + power_8(two) + power_8(three))));
}

// The time of a tile's shape beside its elements. Small ones read what the L2 cache does not keep
// more often. Of the largest, a group of the high ones is a squarer part of C: it reads fewer rows
// and columns from memory.
double slowdown(const TensorTile& tile, double operand_bytes) {
  if (tile.m * tile.n < 128 * 256) return operand_bytes > bytes_in_l2 ? 1.02 : 1.0;
  const bool is_high = tile.m > 128;
  return is_high == (operand_bytes > bytes_beyond_l2) ? 1.0 : 1.01;
}

// Cycles for which a block that has one tile waits, for each tile of k, until all that share it
// have room and all parts of it have come. Columns of four and more blocks do not wait, nor does
// any other cluster beyond a pair whose tiles take long to multiply.
double sharing_cycles(const TensorTile& tile) {
  constexpr double column_of_two = 40.8, row_of_two = 55.3, longer_row = 59.7, rectangle = 86.7;
  constexpr double row_of_two_high = 75.9;
  const bool is_high = tile.m > 64;
  if (tile.across > 1 && tile.down() > 1) return is_high ? 0.0 : rectangle;
  if (tile.across == 2) return is_high ? row_of_two_high : row_of_two;
  if (tile.across > 2) return is_high ? 0.0 : longer_row;
  return tile.in_layer() == 2 ? column_of_two : 0.0;
}

// Cycles of a tile of k where blocks have several tiles: `busiest`, with what they wait for. Rows
// of A that begin anywhere take longer to come than a block waits for its neighbour.
double step_of_many(const TensorTile& tile, const TileLayout& layout, double busiest,
                    double operand_bytes) {
  constexpr double row = 66.3, low = 51.1, of_high = 1.019, of_largest = 1.048;
  constexpr double bytes_of_memory = 140e6;  // operands from which height saves memory's time
  const bool waits = tile.across > 1 && !layout.a_begins_anywhere;
  const double step = busiest + (waits ? row : 0.0) + (tile.m == 64 ? low : 0.0) +
                      (tile.in_turn ? step_in_turn : 0.0);
  if (tile.m < 256 || operand_bytes >= bytes_of_memory) return step;
  return step * (tile.n > 128 ? of_largest : of_high);
}

// Cycles of shared memory for a tile of k. The tensor cores read and the copy engine writes 128
// bytes a cycle, and each 64 rows of the tile read all of B's.
double shared_cycles(const TensorTile& tile) {
  constexpr double overlap = 0.833;
  return overlap * (tile.m / 64.0 * (64.0 + tile.n) + tile.m + tile.n);
}

bool begins_with_lines(const TileOperand& operand) {
  return operand.repacked || operand.rows.pitch_bytes() % line_bytes == 0;
}

// The L2 cache's requests for a row of a box that begins `behind` a line.
double requests_behind(std::int64_t behind) {
  if (behind == 0) return 1.0;
  return behind == line_bytes / 2 ? requests_of_half_lines : requests_of_pieces;
}

double requests_of(const TileOperand& operand) {
  return requests_behind(begins_with_lines(operand) ? 0 : operand.rows.pitch_bytes() % line_bytes);
}

// The same for the columns of B of a tile. Where they lie along its rows, and a tile is not whole
// lines wide, the boxes of most blocks begin behind a line.
double requests_of_b(const TensorTile& tile, const TileLayout& layout) {
  constexpr double most_blocks = 0.8;
  const std::int64_t width = tile.n * static_cast<std::int64_t>(size_of(layout.b.rows.type));
  if (!layout.b.mn_major || !begins_with_lines(layout.b)) return requests_of(layout.b);
  return most_blocks * requests_behind(width % line_bytes) + (1.0 - most_blocks);
}

// Cycles of the loads of a tile of k where `share` of the SMs have a tile. What blocks share is
// requested once, and arrives in each.
double load_cycles(const TensorTile& tile, const TileLayout& layout, double share) {
  const double columns = columns_of_b(tile, layout);
  const double arriving = tile_row_bytes * (tile.m + columns) / arriving_bytes;
  const double requests = tile.m * requests_of(layout.a) / tile.across +
                          columns * requests_of_b(tile, layout) / tile.down();
  const double requested = requests * std::pow(share, loss_of_many) / requests_per_cycle;
  return std::hypot(arriving, requested);
}

// Cycles for which a tile waits for what C held: the first boxes arrive while the tile is
// multiplied, the others behind the store of those before them.
double addend_cycles(const GemmProblem& problem, const TensorTile& tile, Store store) {
  constexpr double cycles_of_lot = 1007.0, cycles_of_lot_in_rows = 1680.0;
  if (store == Store::boxed) return cycles_of_lot * (lots_of(problem, tile) - 1);
  if (store != Store::rows) return 0.0;
  // Elements of 32 bits are read box by box.
  TensorTile by_box = tile;
  if (size_of(problem.c.type) > 2) by_box.boxes = 1;
  return cycles_of_lot_in_rows * lots_of(problem, by_box);
}

// Cycles for the store of a tile, with what it adds.
double store_of_tile(const GemmProblem& problem, const TensorTile& tile, const TileLayout& layout) {
  // Until all warps of a consumer, or one, may write to boxes that have left.
  constexpr double between_lots = 250.0, between_lots_of_warp = 32.8;
  const double elements = static_cast<double>(tile.m * tile.n);
  const double added = problem.beta != 0.0 ? addend_cycles(problem, tile, layout.store) : 0.0;
  const double base =
      store_cycles + added +
      (tile.in_turn ? between_lots_of_warp : between_lots) * (lots_of(problem, tile) - 1);
  if (layout.store != Store::rows) return base + elements / stored_elements_per_cycle;
  const bool is_wide = size_of(problem.c.type) > 2;
  const bool by_one = tile.in_turn || tile.consumers == 1;
  const double rate = by_one ? (is_wide ? stored_in_rows_32 : stored_in_rows_16)
                             : (is_wide ? stored_by_two_32 : stored_by_two_16);
  return base + elements / rate + tile.m * (by_one ? row_cycles : row_cycles_by_two);
}

// Cycles until a block has its sums from the other layers of its cluster, and sent them theirs. The
// larger a tile, the longer do layers wait for each other.
double exchange_cycles(const GemmProblem& problem, const TensorTile& tile) {
  constexpr double meeting_cycles = 700.0, sums_per_cycle = 3.05, cycles_of_element = 0.1;
  if (tile.layers == 1) return 0.0;
  return meeting_cycles + cycles_of_element * tile.m * tile.n +
         static_cast<double>(received_sums(tile, problem.c.type)) / sums_per_cycle;
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

// Tiles of C, those of clusters beyond its edge among them, each as often as k is cut.
double units_of(const GemmProblem& problem, const TensorTile& tile, const TileLayout& layout) {
  const std::int64_t rows =
      groups_of(groups_of(problem.shape.m, layout.classes), tile.m * tile.down()) * tile.down() *
      layout.classes;
  // Clusters that are no pair compute tiles beyond the last column.
  const std::int64_t columns = groups_of(problem.shape.n, tile.n);
  const std::int64_t computed =
      tile.is_pair_across() ? columns : groups_of(columns, tile.across) * tile.across;
  return static_cast<double>(rows * computed * tile.layers * tile.splits * problem.batch);
}

// Cycles of the kernels before and behind the tiles: copies of operands, sums over parts of k.
double other_kernels_cycles(const GemmProblem& problem, const TensorTile& tile,
                            const TileLayout& layout) {
  const MatmulShape& s = problem.shape;
  const double c_bytes = static_cast<double>(s.m * s.n * problem.batch);
  double cycles = 0.0;
  // Copies of both operands are one launch; beside one that turns the other they are hidden.
  if (layout.a.transposed || layout.b.transposed) {
    cycles += turning_cycles;
  } else if (layout.a.repacked || layout.b.repacked) {
    cycles += copying_cycles;
  }
  // A cluster begins when all its SMs are free of the kernel before.
  constexpr double layers_after_copies = 1300.0;
  if (tile.layers > 1 && (layout.a.repacked || layout.b.repacked)) cycles += layers_after_copies;
  for (const TileOperand* operand : {&layout.a, &layout.b}) {
    if (operand->repacked) cycles += 2.0 * operand->rows.bytes() / copied_bytes;
  }
  if (tile.splits > 1) cycles += adding_cycles + 8.0 * tile.splits * c_bytes / added_bytes;
  return cycles;
}

}  // namespace

int lots_of(const GemmProblem& problem, const TensorTile& tile) {
  const int products = tile.m / 64 / (tile.in_turn ? 1 : tile.consumers);
  const int boxes = static_cast<int>(boxes_of_rows_of(tile, problem.c.type));
  return products * boxes / std::min(tile.boxes, boxes);
}

TileRequests requests_of_rows(const TensorTile& tile, const TileLayout& layout) {
  return {requests_of(layout.a), requests_of_b(tile, layout)};
}

bool c_begins_with_lines(const GemmProblem& problem) {
  return problem.c.leading * static_cast<std::int64_t>(size_of(problem.c.type)) % line_bytes == 0;
}

bool comes_in_pieces(const TileOperand& operand) {
  return requests_of(operand) == requests_of_pieces;
}

TileTime expected_time(const GemmProblem& problem, const TensorTile& tile, const TileLayout& layout,
                       int sm_count) {
  const MatmulShape& s = problem.shape;
  const std::int64_t tile_k = tile_row_bytes / static_cast<std::int64_t>(size_of(problem.a.type));
  const double units = units_of(problem, tile, layout);
  const double blocks = static_cast<double>(resident_clusters(tile, sm_count) * tile.cluster);
  const double rounds = std::ceil(units / blocks);
  const double depth =
      static_cast<double>(groups_of(groups_of(s.k, tile_k), tile.layers * tile.splits));
  const double elements = static_cast<double>(tile.m * tile.n);
  const double operand_bytes = layout.a.rows.bytes() + layout.b.rows.bytes();
  const bool hides = tile.in_turn && layout.store == Store::boxed;
  const bool has_one_tile = rounds == 1.0;
  const double used = std::min(units, blocks);
  const double share = has_one_tile ? used / blocks : 1.0;
  const double loads = load_cycles(tile, layout, used / sm_count);
  // Where sums are promoted, tiles are narrower, and shared memory decides: as measured.
  const double of_reads = has_one_tile || promotes_sums(problem) ? 1.0 : 0.5;
  const double waits = has_one_tile ? sharing_cycles(tile) : 0.0;
  const double busiest = busiest_of(elements / elements_per_cycle, loads + waits,
                                    of_reads * shared_cycles(tile) + waits);
  const double step = has_one_tile ? busiest : step_of_many(tile, layout, busiest, operand_bytes);
  // The copies of a tile of k are requested when the stage is free that had the one before it
  // there.
  const double arrival =
      (latency_cycles + (tile.cluster > 1 ? latency_of_cluster : 0.0) + latency_of_loads * loads) /
      (tile.stages - 1);
  const double multiply =
      depth * overlapped_4(step_cycles + slowdown(tile, operand_bytes) * step, arrival);
  const double store =
      store_of_tile(problem, tile, layout) / tile.layers + exchange_cycles(problem, tile);
  double block = rounds * (multiply + store);
  // Boxes that begin anywhere in a cache line are written in more pieces.
  const bool stores_lines = c_begins_with_lines(problem);
  if (hides) {
    const double hidden = stores_lines && operand_bytes <= bytes_in_l2 ? hidden_near : hidden_far;
    block += (rounds - 1.0) * (turn_cycles - hidden * std::min(store, multiply));
  }
  const double loss = tile.m * tile.n < 128 * 256 ? loss_of_all_sms * std::pow(share, 4.0) : 0.0;
  block *= has_one_tile ? level_of_one + loss : level_of_many;
  if (tile.panel > 0) {
    const double products = depth * elements / elements_per_cycle;
    const double panel_store = (stores_lines ? panel_store_cycles : panel_store_in_pieces) +
                               (problem.beta != 0.0 ? panel_addend : 0.0);
    const double first_panel = depth * tile.n * tile_row_bytes / panel_bytes;
    block = first_panel + rounds * std::max(products, (products + panel_store) / 2.0) + store;
  }
  const double traffic = operand_bytes + traffic_of_c(problem, tile, layout);
  // SMs without a tile in the last round leave some of memory's rate to the others.
  block *= 1.0 - 0.175 * (1.0 - units / (rounds * blocks));
  const double memory =
      traffic /
      (bytes_from_memory * std::pow(std::min(1.0, used / sm_count / sms_for_memory), loss_of_few));
  double cycles = fill_cycles + overlapped_4(block, memory);
  if (tile.cluster > 1) cycles += cluster_cycles + 0.01 * block;
  cycles += other_kernels_cycles(problem, tile, layout);
  return {.units = units,
          .blocks = blocks,
          .rounds = rounds,
          .depth = depth,
          .multiply = multiply,
          .store = store,
          .busiest = busiest,
          .loads = loads,
          .arrival = arrival,
          .block = block,
          .memory = memory,
          .cycles = launch_cycles + cycles};
}

}  // namespace tilescope::operations

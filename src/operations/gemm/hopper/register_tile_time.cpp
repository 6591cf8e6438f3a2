#include "operations/gemm/hopper/register_tile_time.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilescope::operations {
namespace {

constexpr std::int64_t row_bytes = 128, sector_bytes = 32;

// Cycles and bytes per cycle of an H200.
constexpr double launch_cycles = 9920.0;      // until the first block runs
constexpr double adding_cycles = 3940.0;      // for a kernel that adds up parts of k
constexpr double bytes_from_memory = 2290.0;  // per cycle, whole chip
constexpr double bytes_from_l2 = 3200.0;      // per cycle, whole chip
constexpr double tile_bytes_per_sm = 53.4;    // per cycle into one SM's shared memory
constexpr double gain_of_few = 0.42;          // the more for each SM, the fewer read
// The same where blocks drift apart before they have shared what the L2 cache holds of A and B;
// pairs that share a tile do not.
constexpr double tile_bytes_of_large = 40.0, large_bytes = 4e8;
constexpr double cache_bytes = 5e7, read_again = 0.25;  // the part of B that is read again
constexpr double not_overlapped = 0.49;  // share of the shorter of memory's time and the blocks'
constexpr double elements_per_cycle = 29.1;  // elements of a tile of C, for one tile of k
constexpr double of_one_consumer = 0.8;      // of that rate: it leaves gaps between its products
constexpr double least_cycles = 284.0;       // for one tile of k, however small
constexpr double fill_cycles = 572.0;        // from the first copy to the first product
// The copy engine takes longer where rows do not begin with cache lines, where they do not begin
// with sectors of 32 bytes, and where B is read by class.
constexpr double slower_off_lines = 1.3, slower_off_sectors = 1.91, slower_by_class = 1.78;
// Blocks that share a tile wait for each other; those that share C exchange halves of their sums.
constexpr double pair_cycles = 350.0, pair_step_cycles = 64.0, least_cycles_of_pair = 380.0;
constexpr double exchange_cycles = 5500.0;
constexpr double repack_cycles = 3000.0;  // for a copy before the product, beside its traffic
constexpr double store_cycles = 660.0, stored_elements_per_cycle = 8.4;
constexpr double of_transposed = 0.65;  // of that rate
// C whose rows do not begin with sectors of 32 bytes is written in parts of them, times the bytes:
// the more where neighbours of a thread lie in different rows, and most where it stores words.
constexpr double bytes_in_parts = 1.56, bytes_of_transposed_pairs = 3.3;
constexpr double bytes_of_transposed_words = 5.89;
// For C that is added: of an element for each consumer, and of a row.
constexpr double addend_cycles = 0.32, addend_row_cycles = 27.6;
// Times this, predictions stand beside those of tensor_tiles: with it the choice between the two
// was best for 74 products drawn at random (docs/results/products_random_h200.md).
constexpr double beside_tensor_tiles = 0.93;

// Cache lines that the copy engine fetches for this block and one tile of k.
double lines_of_step(const RegisterTile& tile, const RegisterLayout& layout) {
  const SlownessOfRows slowness = slowness_of_rows(layout);
  const double a = tile.m * slowness.a, b = tile.n() * slowness.b;
  return (tile.pair == RegisterPair::shares_a ? a / 2 : a) +
         (tile.pair == RegisterPair::shares_b ? b / 2 : b);
}

}  // namespace

std::int64_t tiles_of(const GemmProblem& problem, const RegisterTile& tile,
                      const RegisterLayout& layout) {
  const int down = tile.pair == RegisterPair::shares_b ? 2 : 1;
  const int across = tile.pair == RegisterPair::shares_a ? 2 : 1;
  const std::int64_t rows = groups_of(problem.shape.m, layout.a_classes);
  return groups_of(rows, std::int64_t{tile.m} * down) * down * layout.a_classes *
         groups_of(problem.shape.n, std::int64_t{tile.n()} * across) * across * problem.batch;
}

SlownessOfRows slowness_of_rows(const RegisterLayout& layout) {
  const auto each = [](const RowsInMemory& rows, bool repacks) {
    if (repacks || rows.pitch_bytes() % row_bytes == 0) return 1.0;
    return rows.pitch_bytes() % sector_bytes == 0 ? slower_off_lines : slower_off_sectors;
  };
  const double a_by_class = layout.a_unit == row_bytes ? 1.0 : slower_off_lines;
  return {layout.a_classes > 1 ? a_by_class : each(layout.a, layout.repacks_a),
          layout.b_classes > 1 ? slower_by_class : each(layout.b, layout.repacks_b)};
}

bool has_whole_sectors(const GemmProblem& problem) {
  return problem.c.leading * static_cast<std::int64_t>(size_of(problem.c.type)) % sector_bytes == 0;
}

RegisterTime expected_time(const GemmProblem& problem, const RegisterTile& tile,
                           const RegisterLayout& layout, int sm_count) {
  const MatmulShape& s = problem.shape;
  const bool shares_k = tile.pair == RegisterPair::shares_c;
  const int parts = tile.splits * (shares_k ? 2 : 1);
  const double sms = sm_count;
  const double units = static_cast<double>(tiles_of(problem, tile, layout) * parts);
  const double rounds = std::ceil(units / sms);
  const std::int64_t k_tiles = k_tiles_of(problem, layout);
  const double depth = static_cast<double>(groups_of(k_tiles, parts));
  const double elements = static_cast<double>(tile.m * tile.n());
  const double rate = elements_per_cycle * (tile.consumers == 1 ? of_one_consumer : 1.0);
  const double operands = layout.a.bytes() + layout.b.bytes();
  const bool is_pair = tile.pair != RegisterPair::none, shares_tile = is_pair && !shares_k;
  const double bytes_per_cycle =
      (operands > large_bytes && !shares_tile ? tile_bytes_of_large : tile_bytes_per_sm) /
      std::pow(std::min(1.0, units / sms), gain_of_few);
  const double loads = lines_of_step(tile, layout) * row_bytes / bytes_per_cycle;
  const double step =
      std::max({elements / rate, loads, shares_tile ? least_cycles_of_pair : least_cycles}) +
      (shares_tile ? pair_step_cycles : 0.0);
  const double stored = stored_elements_per_cycle * (tile.transposed ? of_transposed : 1.0);
  const double kept = shares_k ? 0.5 : 1.0;  // of the tile's rows
  double store = (shares_k ? exchange_cycles : store_cycles) + kept * elements / stored;
  if (problem.beta != 0.0 && tile.splits == 1) {
    store += kept * (addend_cycles * elements / tile.consumers + addend_row_cycles * tile.m);
  }
  const double c_bytes = static_cast<double>(s.m * s.n * problem.batch);
  // Blocks one below the other do not always meet in the L2 cache.
  const bool reads_b_again = operands > cache_bytes && s.m > tile.m;
  const double in_parts = !tile.transposed      ? bytes_in_parts
                          : layout.c_is_aligned ? bytes_of_transposed_pairs
                                                : bytes_of_transposed_words;
  const double written = has_whole_sectors(problem) ? 1.0 : in_parts;
  const double traffic = operands + (reads_b_again ? read_again * layout.b.bytes() : 0.0) +
                         (problem.beta != 0.0 ? 2.0 : 1.0) * written * c_bytes *
                             static_cast<double>(size_of(problem.c.type));
  const double blocks = rounds * (depth * step + store), memory = traffic / bytes_from_memory;
  double cycles = fill_cycles + std::max(blocks, memory) +
                  not_overlapped * std::min(blocks, memory) + (is_pair ? pair_cycles : 0.0);
  for (const auto& [repacks, rows] :
       {std::pair{layout.repacks_a, &layout.a}, std::pair{layout.repacks_b, &layout.b}}) {
    if (repacks) cycles += repack_cycles + 2.0 * rows->bytes() / bytes_from_memory;
  }
  if (tile.splits > 1) cycles += adding_cycles + 8.0 * tile.splits * c_bytes / bytes_from_l2;
  return {.units = units,
          .rounds = rounds,
          .depth = depth,
          .step = step,
          .loads = loads,
          .store = store,
          .blocks = blocks,
          .memory = memory,
          .cycles = beside_tensor_tiles * (launch_cycles + cycles)};
}

}  // namespace tilescope::operations

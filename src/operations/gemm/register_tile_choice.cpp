// Which tile computes a problem soonest: a model of a persistent block's time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "operations/gemm/register_operand.hpp"
#include "operations/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

constexpr std::int64_t row_bytes = 128, tile_k = 32;

// Cycles and bytes per cycle of an H200.
constexpr double launch_cycles = 3500.0;      // of one more kernel
constexpr double bytes_from_memory = 2450.0;  // per cycle, whole chip
constexpr double bytes_from_l2 = 3200.0;      // per cycle, whole chip
constexpr double tile_bytes_per_sm = 56.0;    // per cycle into one SM's shared memory
// The same where blocks drift apart before they have shared what the L2 cache holds of A and B.
constexpr double tile_bytes_of_large = 40.0, large_bytes = 4e8;
constexpr double cache_bytes = 5e7, read_again = 0.25;  // the part of B that is read again
constexpr double not_overlapped = 0.25;      // of the shorter of memory's time and the blocks'
constexpr double elements_per_cycle = 32.0;  // of a tile of C, for one tile of k
constexpr double least_cycles = 150.0;       // of one tile of k, however small
constexpr double fill_cycles = 700.0;        // from the first copy to the first product
constexpr double store_cycles = 500.0, stored_elements_per_cycle = 11.0;

double bytes_of(const RowsInMemory& rows) {
  return static_cast<double>(rows.rows) * static_cast<double>(rows.columns) *
         static_cast<double>(rows.batch) * static_cast<double>(size_of(rows.type));
}

std::int64_t tiles_of(const GemmProblem& problem, const RegisterTile& tile) {
  return groups_of(problem.shape.m, tile.m) * groups_of(problem.shape.n, tile.n()) * problem.batch;
}

double predicted_cycles(const GemmProblem& problem, const RegisterTile& tile,
                        const RegisterLayout& layout, double sm_count) {
  const MatmulShape& s = problem.shape;
  const double units = static_cast<double>(tiles_of(problem, tile) * tile.splits);
  const double rounds = std::ceil(units / sm_count);
  const double depth = static_cast<double>(groups_of(groups_of(s.k, tile_k), tile.splits));
  const double elements = static_cast<double>(tile.m * tile.n());
  // One warpgroup alone leaves gaps between its products.
  const double rate = tile.consumers == 1 ? 0.75 * elements_per_cycle : elements_per_cycle;
  const int larger = std::max(tile.m, tile.n()), smaller = std::min(tile.m, tile.n());
  const double operands = bytes_of(layout.a) + bytes_of(layout.b);
  const double bytes_per_cycle = operands > large_bytes ? tile_bytes_of_large : tile_bytes_per_sm;
  const double loads =
      static_cast<double>((larger / tile.cluster + smaller) * row_bytes) / bytes_per_cycle;
  const double step = std::max({elements / rate, loads, least_cycles});
  const double store = store_cycles + elements / stored_elements_per_cycle;
  const double c_bytes = static_cast<double>(s.m * s.n * problem.batch);
  // Blocks one below the other do not always meet in the L2 cache.
  const bool reads_b_again = operands > cache_bytes && s.m > tile.m;
  const double traffic = operands + (reads_b_again ? read_again * bytes_of(layout.b) : 0.0) +
                         c_bytes * static_cast<double>(size_of(problem.c.type));
  const double blocks = rounds * (depth * step + store), memory = traffic / bytes_from_memory;
  double cycles =
      fill_cycles + std::max(blocks, memory) + not_overlapped * std::min(blocks, memory);
  for (const auto& [repacks, rows] :
       {std::pair{layout.repacks_a, &layout.a}, std::pair{layout.repacks_b, &layout.b}}) {
    if (repacks) cycles += launch_cycles + 2.0 * bytes_of(*rows) / bytes_from_memory;
  }
  if (tile.splits > 1) cycles += launch_cycles + 8.0 * tile.splits * c_bytes / bytes_from_l2;
  return cycles;
}

// Tiles that keep the sums of a thread within 128 registers, those first that win a draw.
std::vector<RegisterTile> shapes() {
  std::vector<RegisterTile> tiles{{.m = 256, .products = 1, .consumers = 2},
                                  {.m = 256, .products = 1, .consumers = 2, .cluster = 2},
                                  {.m = 128, .products = 2, .consumers = 2},
                                  {.m = 256, .products = 1, .consumers = 1}};
  for (const int consumers : {2, 1}) {
    for (const int m : {128, 64, 32, 16}) {
      tiles.push_back({.m = m, .products = 1, .consumers = consumers});
    }
  }
  for (const int m : {64, 32, 16}) {
    for (const int consumers : {1, 2}) {
      tiles.push_back({.m = m, .products = 2, .consumers = consumers});
    }
  }
  return tiles;
}

std::vector<int> splits_of(const GemmProblem& problem, const RegisterTile& tile, int sm_count) {
  const std::int64_t tiles = tiles_of(problem, tile);
  constexpr std::int64_t least_k_tiles = 4;  // of a part
  std::vector<int> splits{1};
  for (const std::int64_t blocks : {sm_count / 2, sm_count, 2 * sm_count}) {
    const std::int64_t split =
        std::min(blocks / tiles, groups_of(problem.shape.k, tile_k) / least_k_tiles);
    if (split > splits.back()) splits.push_back(static_cast<int>(split));
  }
  return splits;
}

}  // namespace

std::string text_of(const RegisterTile& tile) {
  std::string text = fmt::format("{}x{}x{}", tile.m, tile.n(), tile.stages);
  if (tile.cluster > 1) text += fmt::format(" cluster {}", tile.cluster);
  if (tile.splits > 1) text += fmt::format(" split {}", tile.splits);
  return text;
}

std::vector<RegisterTile> register_tile_candidates(const GemmProblem& problem,
                                                   const DeviceProperties& device) {
  std::vector<std::pair<double, RegisterTile>> candidates;
  for (RegisterTile tile : shapes()) {
    // Blocks that have nobody to share with would compute nothing.
    if (tile.cluster > 1 && problem.shape.n <= tile.n()) continue;
    for (const int splits : splits_of(problem, tile, device.sm_count)) {
      tile.splits = splits;
      tile.stages = 12;
      while (shared_bytes_of(tile) > device.shared_bytes_per_block_optin) --tile.stages;
      candidates.emplace_back(
          predicted_cycles(problem, tile, layout_of(problem, tile), device.sm_count), tile);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<RegisterTile> tiles;
  for (const auto& [cycles, tile] : candidates) tiles.push_back(tile);
  return tiles;
}

}  // namespace tilescope::operations

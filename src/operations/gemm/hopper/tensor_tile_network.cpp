#include "operations/gemm/hopper/tensor_tile_network.hpp"

#include <algorithm>
#include <cmath>

#include "operations/gemm/networks/product_features.hpp"

namespace tilescope::operations {
namespace {

// In the order of the network's numbers. Extents and bytes are binary logarithms.
TileFeatures features_of(const GemmProblem& problem, const TensorTile& tile,
                         const TileLayout& layout, const TileTime& time) {
  const auto m = static_cast<double>(problem.shape.m), n = static_cast<double>(problem.shape.n);
  const double elements = m * n * static_cast<double>(problem.batch);
  const double a_bytes = layout.a.rows.bytes(), b_bytes = layout.b.rows.bytes();
  const TileRequests requests = requests_of_rows(tile, layout);
  const double computed = time.units / (tile.splits * tile.layers) * tile.m * tile.n;
  return {std::log2(time.depth),
          time.units / time.blocks,
          time.rounds,
          static_cast<double>(tile.m),
          static_cast<double>(tile.n),
          static_cast<double>(tile.consumers),
          static_cast<double>(tile.stages),
          static_cast<double>(tile.down()),
          static_cast<double>(tile.across),
          static_cast<double>(tile.layers),
          static_cast<double>(tile.splits),
          tile.in_turn ? 1.0 : 0.0,
          tile.transposed ? 1.0 : 0.0,
          static_cast<double>(lots_of(problem, tile)),
          problem.beta != 0.0 ? 1.0 : 0.0,
          layout.a.mn_major ? 1.0 : 0.0,
          layout.b.mn_major ? 1.0 : 0.0,
          requests.a,
          requests.b,
          computed / elements,
          std::log2(time.block),
          std::log2(time.memory / time.block),
          time.store / (time.store + time.multiply),
          time.loads / time.busiest,
          time.arrival / time.busiest,
          std::log2(a_bytes + b_bytes),
          std::log2(a_bytes / b_bytes),
          std::log2(elements * static_cast<double>(size_of(problem.c.type))),
          c_begins_with_lines(problem) ? 1.0 : 0.0,
          std::log2(m),
          std::log2(n),
          static_cast<double>(problem.shape.m % tile.m) / tile.m,
          static_cast<double>(problem.shape.n % tile.n) / tile.n,
          layout.store == Store::rows ? 1.0 : 0.0,
          layout.a_begins_anywhere ? 1.0 : 0.0,
          (layout.a.repacked ? 1.0 : 0.0) + (layout.b.repacked ? 1.0 : 0.0)};
}

}  // namespace

TimedFeatures<tile_features> timed_features(const GemmProblem& problem, const TensorTile& tile,
                                            int sm_count) {
  const GemmProblem tiled = problem_of(tile, problem);
  const TileLayout layout = layout_of(tiled, tile);
  const TileTime time = expected_time(tiled, tile, layout, sm_count);
  return {.cycles = time.cycles, .features = features_of(tiled, tile, layout, time)};
}

const TileNetwork* network_for(const GemmProblem& problem, const TensorTile& tile) {
  // Extents that were measured: long ones in 16 bits beside few rows or columns.
  constexpr std::int64_t least = 64, least_k = 16, most = 16384;
  constexpr std::int64_t few = 1024, most_beside_few = 40960, most_k_beside_few = 32768;
  const MatmulShape& s = problem.shape;
  const std::int64_t narrow = std::min(s.m, s.n), wide = std::max(s.m, s.n);
  if (tile.panel > 0 || narrow < least || s.k < least_k) return nullptr;
  if (problem.precision == Precision::tf32) {
    return has_measured_extents(problem) ? &tile_network_tf32 : nullptr;
  }
  if (size_of(problem.a.type) != 2 || size_of(problem.c.type) != 2) return nullptr;
  const bool is_known = std::max(wide, s.k) <= most ||
                        (narrow <= few && wide <= most_beside_few && s.k <= most_k_beside_few);
  return is_known ? &tile_network : nullptr;
}

}  // namespace tilescope::operations

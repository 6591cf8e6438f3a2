#include "operations/gemm/hopper/register_tile_network.hpp"

#include <cmath>

#include "operations/gemm/hopper/register_tile_time.hpp"

namespace tilescope::operations {
namespace {

// In the order of the network's numbers. Extents and bytes are binary logarithms.
RegisterFeatures features_of(const GemmProblem& problem, const RegisterTile& tile,
                             const RegisterLayout& layout, const RegisterTime& time, int sm_count) {
  const auto yes = [](bool is_so) { return is_so ? 1.0 : 0.0; };
  const auto m = static_cast<double>(problem.shape.m), n = static_cast<double>(problem.shape.n);
  const double elements = m * n * static_cast<double>(problem.batch);
  const double a_bytes = layout.a.bytes(), b_bytes = layout.b.bytes();
  const SlownessOfRows slowness = slowness_of_rows(layout);
  const double computed = static_cast<double>(tiles_of(problem, tile, layout)) * tile.m * tile.n();
  return {std::log2(time.depth),
          time.units / sm_count,
          time.rounds,
          static_cast<double>(tile.m),
          static_cast<double>(tile.n()),
          static_cast<double>(tile.products),
          static_cast<double>(tile.consumers),
          static_cast<double>(tile.stages),
          yes(tile.pair == RegisterPair::shares_b),
          yes(tile.pair == RegisterPair::shares_a),
          yes(tile.pair == RegisterPair::shares_c),
          static_cast<double>(tile.splits),
          yes(tile.a_by_class),
          yes(tile.transposed),
          yes(problem.beta != 0.0),
          yes(problem.has_bias),
          slowness.a,
          slowness.b,
          yes(layout.repacks_a),
          yes(layout.repacks_b),
          yes(layout.transposes_a),
          yes(layout.b_classes > 1),
          computed / elements,
          std::log2(time.blocks),
          std::log2(time.memory / time.blocks),
          time.store / (time.store + time.depth * time.step),
          time.loads / time.step,
          std::log2(time.step),
          std::log2(a_bytes + b_bytes),
          std::log2(a_bytes / b_bytes),
          std::log2(elements * static_cast<double>(size_of(problem.c.type))),
          yes(has_whole_sectors(problem)),
          yes(layout.c_is_aligned),
          std::log2(m),
          std::log2(n),
          std::log2(static_cast<double>(problem.shape.k)),
          static_cast<double>(problem.shape.m % tile.m) / tile.m,
          static_cast<double>(problem.shape.n % tile.n()) / tile.n()};
}

}  // namespace

TimedFeatures<register_features> timed_features(const GemmProblem& problem,
                                                const RegisterTile& tile, int sm_count) {
  const GemmProblem tiled = problem_of(tile, problem);
  const RegisterLayout layout = layout_of(tiled, tile);
  const RegisterTime time = expected_time(tiled, tile, layout, sm_count);
  return {.cycles = time.cycles, .features = features_of(tiled, tile, layout, time, sm_count)};
}

}  // namespace tilescope::operations

#include "operations/gemm/general/short_k_network.hpp"

#include <cmath>

namespace tilescope::operations {

TimedFeatures<short_k_features> timed_features(const GemmProblem& problem, const ShortKPlan& plan,
                                               int sm_count) {
  const ShortKTime time = expected_time(problem, plan, sm_count);
  const ShortKTile& tile = plan.tile;
  const auto k = problem.shape.k;
  const double tiles = double(tiles_of(problem, tile));
  const double elements = double(problem.shape.m) * double(problem.shape.n) * double(problem.batch);
  // In the order of the network's numbers. Cycles are binary logarithms.
  const std::array own{double(tile.rows()),
                       double(tile.columns()),
                       double(tile.thread_m * tile.thread_n),
                       double(tile.slices),
                       double(tile.depth),
                       double(tile.stages),
                       double(plan.blocks_per_sm),
                       tiles / sm_count,
                       double(time.full_rounds),
                       double(time.last_round),
                       tiles * tile.rows() * tile.columns() / elements,
                       std::log2(time.alone),
                       std::log2(time.own),
                       std::log2(time.cycles),
                       std::log2(plan.splits),
                       std::log2(double(plan.k_of_part)),
                       time.summing / time.cycles,
                       double(k % tile.depth) / tile.depth,
                       double(problem.shape.m % tile.rows()) / tile.rows(),
                       double(problem.shape.n % tile.columns()) / tile.columns()};
  return {.cycles = time.cycles, .features = with_features_of_product(problem, own)};
}

}  // namespace tilescope::operations

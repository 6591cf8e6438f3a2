#include "operations/gemm/hopper/ffma_network.hpp"

#include <cmath>

#include "operations/gemm/hopper/ffma_time.hpp"

namespace tilescope::operations {

TimedFeatures<ffma_features> timed_features(const GemmProblem& problem, const FfmaPlan& plan,
                                            int sm_count) {
  const FfmaTime time = expected_time(problem, plan, sm_count);
  const FfmaTile& tile = plan.tile;
  const auto yes = [](bool is_so) { return is_so ? 1.0 : 0.0; };
  const double tiles = double(ffma_tiles_of(problem, tile));
  const double elements = double(problem.shape.m) * double(problem.shape.n) * double(problem.batch);
  // In the order of the network's numbers. Cycles and counts are binary logarithms.
  const std::array own{std::log2(plan.phases_of_split),
                       double(time.blocks) / sm_count,
                       double(time.full_rounds),
                       double(time.last_round),
                       double(tile.m),
                       double(tile.n),
                       double(tile.blocks_per_sm()),
                       yes(tile.by_steps),
                       tile.rates[0],
                       double(plan.stages),
                       std::log2(plan.splits),
                       yes(plan.a == FfmaSource::words),
                       yes(plan.a == FfmaSource::transposed_words),
                       yes(plan.a == FfmaSource::copy),
                       yes(plan.b == FfmaSource::words),
                       yes(plan.b == FfmaSource::transposed_words),
                       yes(plan.b == FfmaSource::paired_boxes),
                       yes(plan.b == FfmaSource::copy),
                       tiles * tile.m * tile.n / elements,
                       std::log2(time.busy),
                       std::log2(time.memory / time.busy),
                       time.ends / (time.ends + plan.phases_of_split * time.step),
                       time.words / time.step,
                       time.adding / time.cycles,
                       time.copying / time.cycles,
                       time.summing / time.cycles,
                       double(problem.shape.m % tile.m) / tile.m,
                       double(problem.shape.n % tile.n) / tile.n};
  return {.cycles = time.cycles, .features = with_features_of_product(problem, own)};
}

}  // namespace tilescope::operations

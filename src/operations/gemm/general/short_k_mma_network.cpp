#include "operations/gemm/general/short_k_mma_network.hpp"

#include <cmath>

#include "operations/gemm/general/short_k_mma_time.hpp"

namespace tilescope::operations {

TimedFeatures<short_k_mma_features> timed_features(const GemmProblem& problem,
                                                   const MmaSyncPlan& plan, int sm_count) {
  const ShortKMmaTime time = expected_time(problem, plan, sm_count);
  const MmaSyncTile& tile = plan.tile;
  const auto k_bytes = problem.shape.k * static_cast<std::int64_t>(size_of(problem.a.type));
  const double tiles = double(mma_tiles_of_c(problem, tile));
  const double elements = double(problem.shape.m) * double(problem.shape.n) * double(problem.batch);
  // In the order of the network's numbers. Cycles are binary logarithms.
  const std::array own{double(tile.rows),
                       double(tile.columns),
                       double(tile.warp_rows),
                       double(plan.depth_bytes),
                       double(time.stages),
                       double(tile.blocks_per_sm),
                       tiles / sm_count,
                       double(time.further),
                       tiles * tile.rows * tile.columns / elements,
                       std::log2(time.first),
                       std::log2(time.cycles),
                       double(k_bytes % plan.depth_bytes) / plan.depth_bytes,
                       double(problem.shape.m % tile.rows) / tile.rows,
                       double(problem.shape.n % tile.columns) / tile.columns};
  return {.cycles = time.cycles, .features = with_features_of_product(problem, own)};
}

const ShortKMmaNetwork* short_k_mma_network_for(const GemmProblem& problem) {
  constexpr std::int64_t most_k = 260;  // that was measured
  if (!has_measured_extents(problem) || problem.shape.k > most_k) return nullptr;
  if (problem.precision == Precision::tf32) return &short_k_mma_network_tf32;
  const bool has_16_bits = size_of(problem.a.type) == 2 && size_of(problem.c.type) == 2;
  return has_16_bits ? &short_k_mma_network : nullptr;
}

}  // namespace tilescope::operations

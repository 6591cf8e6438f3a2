// Chooses the tile that computes a problem fastest, by a model of a persistent block's time.
#pragma once

#include <optional>
#include <vector>

#include "operations/gemm/hopper/tensor_tile.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// Tiles that can compute the problem, the best by the model first.
std::vector<TensorTile> tensor_tile_candidates(const GemmProblem& problem,
                                               const DeviceProperties& device);

/// The cycles that the model expects for one of them.
double expected_cycles(const GemmProblem& problem, const TensorTile& tile,
                       const DeviceProperties& device);

/// The best tile with a panel of B in shared memory; nothing if k is too long for all.
std::optional<TensorTile> best_panel_tile(const GemmProblem& problem,
                                          const DeviceProperties& device);

}  // namespace tilescope::operations

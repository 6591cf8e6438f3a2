// Chooses the tile that computes a problem fastest, by a model of a persistent block's time.
#pragma once

#include <optional>
#include <vector>

#include "operations/gemm/hopper/tensor_tile.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// A tile, and the cycles that it is expected to take.
struct TimedTensorTile {
  TensorTile tile;
  double cycles = 0.0;
};

/// Tiles that can compute the problem, the fastest first: by the model, of which the first are
/// ranked once more by the network that was trained on such.
std::vector<TimedTensorTile> timed_tensor_tiles(const GemmProblem& problem,
                                                const DeviceProperties& device);

/// The tiles alone.
std::vector<TensorTile> tensor_tile_candidates(const GemmProblem& problem,
                                               const DeviceProperties& device);

/// The best tile with a panel of B in shared memory; nothing if k is too long for all.
std::optional<TensorTile> best_panel_tile(const GemmProblem& problem,
                                          const DeviceProperties& device);

}  // namespace tilescope::operations

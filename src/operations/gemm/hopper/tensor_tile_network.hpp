// The networks that correct the model of tensor_tile_time.hpp for the tiles which that ranks first.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/hopper/tensor_tile_time.hpp"
#include "operations/gemm/problem/plan_network.hpp"

namespace tilescope::operations {

/// The properties of a tile by which a network tells how far the model is wrong.
constexpr std::size_t tile_features = 36;
using TileFeatures = std::array<double, tile_features>;

/// Those of the problem's tile with `sm_count` SMs, beside the model's cycles.
TimedFeatures<tile_features> timed_features(const GemmProblem& problem, const TensorTile& tile,
                                            int sm_count);

using TileNetwork = PlanNetwork<tile_features>;
extern const TileNetwork tile_network;       ///< of 16-bit matrices: tensor_tile_weights.cpp
extern const TileNetwork tile_network_tf32;  ///< tensor_tile_weights_tf32.cpp

/// The network that was trained on such tiles and products; null for others.
const TileNetwork* network_for(const GemmProblem& problem, const TensorTile& tile);

}  // namespace tilescope::operations

// The networks that correct the model of tensor_tile_time.hpp for the tiles which that ranks first.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/hopper/tensor_tile_time.hpp"
#include "operations/gemm/networks/plan_network.hpp"

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

/// The part of its time that another tile must gain by the networks' word to be taken before the
/// model's first. With it less was lost on products that they were not trained on; networks of 16
/// bits and of fp32, which know more products, need none.
constexpr double least_gain_in_tf32 = 0.01;

/// The network that was trained on such tiles and products; null for others.
const TileNetwork* network_for(const GemmProblem& problem, const TensorTile& tile);

}  // namespace tilescope::operations

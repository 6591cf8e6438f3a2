// The network that corrects the model of register_tile_time.hpp for the tiles which that ranks
// first.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/hopper/register_operand.hpp"
#include "operations/gemm/networks/plan_network.hpp"

namespace tilescope::operations {

/// The properties of a tile by which the network tells how far the model is wrong.
constexpr std::size_t register_features = 38;
using RegisterFeatures = std::array<double, register_features>;

/// Those of the problem's tile with `sm_count` SMs, beside the model's cycles.
TimedFeatures<register_features> timed_features(const GemmProblem& problem,
                                                const RegisterTile& tile, int sm_count);

using RegisterNetwork = PlanNetwork<register_features>;
/// Trained together with tile_network_tf32, on the same products: register_tile_weights.cpp.
extern const RegisterNetwork register_network;

}  // namespace tilescope::operations

// The network that corrects the model of ffma_time.hpp for the plans which that ranks first.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/hopper/ffma_tile.hpp"
#include "operations/gemm/networks/plan_network.hpp"
#include "operations/gemm/networks/product_features.hpp"

namespace tilescope::operations {

/// The properties of a plan, with its product's, by which the network tells how far the model is
/// wrong.
constexpr std::size_t ffma_features = product_features + 28;

/// Those of the plan with `sm_count` SMs, beside the model's cycles.
TimedFeatures<ffma_features> timed_features(const GemmProblem& problem, const FfmaPlan& plan,
                                            int sm_count);

using FfmaNetwork = PlanNetwork<ffma_features>;
/// Trained together with short_k_network, on the same products: ffma_weights.cpp.
extern const FfmaNetwork ffma_network;

}  // namespace tilescope::operations

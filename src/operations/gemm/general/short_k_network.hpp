// The network that corrects the model of short_k_time.hpp for the plans which that ranks first.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/general/short_k_time.hpp"
#include "operations/gemm/networks/plan_network.hpp"
#include "operations/gemm/networks/product_features.hpp"

namespace tilescope::operations {

/// The properties of a plan, with its product's, by which the network tells how far the model is
/// wrong.
constexpr std::size_t short_k_features = product_features + 20;

/// Those of the plan with `sm_count` SMs, beside the model's cycles.
TimedFeatures<short_k_features> timed_features(const GemmProblem& problem, const ShortKPlan& plan,
                                               int sm_count);

using ShortKNetwork = PlanNetwork<short_k_features>;
/// Trained together with ffma_network, on the same products: short_k_weights.cpp.
extern const ShortKNetwork short_k_network;

}  // namespace tilescope::operations

// The networks that correct the model of short_k_mma_time.hpp.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/general/mma_sync.hpp"
#include "operations/gemm/networks/plan_network.hpp"
#include "operations/gemm/networks/product_features.hpp"

namespace tilescope::operations {

/// The properties of a plan, with its product's, by which a network tells how far the model is
/// wrong.
constexpr std::size_t short_k_mma_features = product_features + 14;

/// Those of the plan with `sm_count` SMs, beside the model's cycles.
TimedFeatures<short_k_mma_features> timed_features(const GemmProblem& problem,
                                                   const MmaSyncPlan& plan, int sm_count);

using ShortKMmaNetwork = PlanNetwork<short_k_mma_features>;
/// Trained beside the networks of tensor_tiles and register_operand as they are.
extern const ShortKMmaNetwork short_k_mma_network;       ///< of 16 bits: short_k_mma_weights.cpp
extern const ShortKMmaNetwork short_k_mma_network_tf32;  ///< short_k_mma_weights_tf32.cpp

/// The network that was trained on such products; null for others. What it expects can be compared
/// with what is expected of tensor_tiles and register_operand.
const ShortKMmaNetwork* short_k_mma_network_for(const GemmProblem& problem);

}  // namespace tilescope::operations

// The networks that correct the model of short_k_mma_time.hpp.
#pragma once

#include <array>
#include <cstddef>

#include "operations/gemm/general/mma_sync.hpp"
#include "operations/gemm/problem/plan_network.hpp"
#include "operations/gemm/problem/product_features.hpp"

namespace tilescope::operations {

/// The properties of a plan, with its product's, by which a network tells how far the model is
/// wrong.
constexpr std::size_t short_k_mma_features = product_features + 14;

/// Those of the plan with `sm_count` SMs, beside the model's cycles.
TimedFeatures<short_k_mma_features> timed_features(const GemmProblem& problem,
                                                   const MmaSyncPlan& plan, int sm_count);

}  // namespace tilescope::operations

// The launches of a variant on some GPU, found by running it on a device that only records them: no
// GPU is needed, and nothing is compiled.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The launches of one run of `variant`, in order, with the constants of their compilation but
/// without arguments. Throws the variant's error for a problem that it cannot compute.
Plan recorded_plan(const GemmVariant& variant, const GemmProblem& problem,
                   const DeviceProperties& device);

/// The kernels that `prepare` loads. Throws its errors.
std::vector<KernelRequest> recorded_kernels(
    const std::function<std::unique_ptr<GemmRun>(Device& device)>& prepare,
    const DeviceProperties& device);

}  // namespace tilescope::operations

// What a variant would launch on some GPU, found by letting it run on a device that only takes
// notes: no GPU is needed, nothing is compiled.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The launches of one run of `variant`, in order, with the constants of their compilation; their
/// arguments are left out. Throws what the variant throws for a problem that it cannot compute.
Plan recorded_plan(const GemmVariant& variant, const GemmProblem& problem,
                   const DeviceProperties& device);

/// The kernels that `prepare` loads. Throws what it throws.
std::vector<KernelRequest> recorded_kernels(
    const std::function<std::unique_ptr<GemmRun>(Device& device)>& prepare,
    const DeviceProperties& device);

}  // namespace tilescope::operations

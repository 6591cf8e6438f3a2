// Precision fp32_fast by the best kernel of fp32, where parts of the operands do not pay.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_variant.hpp"

namespace tilescope::operations {

/// The problem in fp32, by the variant that the table prefers for it.
std::unique_ptr<GemmRun> prepare_best_fp32(Device& device, const GemmProblem& problem);

/// For products that are too small or too narrow to repay splitting their operands.
std::optional<std::string> as_fp32_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_as_fp32(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

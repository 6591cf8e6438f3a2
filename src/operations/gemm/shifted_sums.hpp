// 16-bit products whose B has rows that are not multiples of 16 bytes apart, read where they lie
// (kernels/gemm/shifted_sums.cu).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem.hpp"

namespace tilescope::operations {

std::optional<std::string> shifted_sums_refusal(const GemmProblem& problem,
                                                const DeviceProperties& device);
/// Whether that is sooner done than copying B to rows of whole chunks first.
bool shifted_sums_pay(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_shifted_sums(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

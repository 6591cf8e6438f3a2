// Precision fp32_fast: float32 products as three products of float16 parts on tensor cores.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem.hpp"

namespace tilescope::operations {

std::optional<std::string> split_tiles_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device);
/// The run waits for the parts, to see whether they can represent A and B: where a row of A or a
/// column of B has elements below 2^-34 of its largest, or not finite, the product is computed as
/// fp32, and note() says so.
std::unique_ptr<GemmRun> prepare_split_tiles(Device& device, const GemmProblem& problem);

/// fp32_fast by the best kernel of fp32, for products that are too small or too narrow to repay the
/// cutting of their operands.
std::optional<std::string> as_fp32_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_as_fp32(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

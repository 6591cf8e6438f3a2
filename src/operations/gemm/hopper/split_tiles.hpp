// Precision fp32_fast: float32 products as three products of float16 parts on tensor cores.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

std::optional<std::string> split_tiles_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device);
/// Prepares a run that waits for the parts to see whether they can represent A and B. Where a row
/// of A or a column of B has elements below 2^-34 of its largest, or not finite, `prepare_fp32`
/// makes the run that computes the product as fp32, and note() says so.
std::unique_ptr<GemmRun> prepare_split_tiles(Device& device, const GemmProblem& problem,
                                             PrepareGemm prepare_fp32);

}  // namespace tilescope::operations

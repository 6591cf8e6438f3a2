// Precision fp32_fast: float32 products as three products of float16 parts on tensor cores.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

std::optional<std::string> split_tiles_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device);
/// The parts that k is cut into, which depend on the number of tiles (GemmVariant::order_of_sums).
std::string split_tiles_order(const GemmProblem& problem, const DeviceProperties& device);
/// Prepares a run in which the device finds out whether the parts can represent A and B. Where a
/// row of A or a column of B has elements below 2^-34 of its largest, or not finite, another kernel
/// computes the product as fp32. note() says so of the last run, which must be over.
std::unique_ptr<GemmRun> prepare_split_tiles(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

// The kernel that takes every GemmProblem, so that every problem has one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/gemm/problem/run_condition.hpp"

namespace tilescope::operations {

/// Elements of C along either side of the tile of one block: 64 where that leaves enough blocks for
/// the device, else 32 or 16.
std::int64_t general_tile(const GemmProblem& problem, const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest general_request(const GemmProblem& problem, const DeviceProperties& device);

/// Refuses element types that are not floating-point, and nothing else.
std::optional<std::string> general_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_general(Device& device, const GemmProblem& problem);
std::unique_ptr<GemmRun> prepare_general(Device& device, const GemmProblem& problem,
                                         const RunCondition& condition);

}  // namespace tilescope::operations

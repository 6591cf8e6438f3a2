// Products of few steps of k by FFMAs, in many small blocks (kernels/gemm/short_k.cu).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/general/short_k_time.hpp"
#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The plans of all tiles, those first that are expected to be fastest; behind them those with
/// parts of k where these were not measured. Extents are at least 1.
std::vector<ShortKPlan> short_k_plan_candidates(const GemmProblem& problem,
                                                const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest short_k_request(const GemmProblem& problem, const ShortKPlan& plan,
                              const ChunkAccess& access = {});

/// Refuses precisions other than fp32, tf32, bf16 and fp16, and matrices of other types than
/// theirs.
std::optional<std::string> short_k_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem);
std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem,
                                         const ShortKPlan& plan);

}  // namespace tilescope::operations

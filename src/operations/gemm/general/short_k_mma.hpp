// Products of few steps of k on tensor cores, by many small blocks (kernels/gemm/short_k_mma.cu).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/general/mma_sync.hpp"
#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The plans that the device can run, those first that are expected to be fastest. One stage of a
/// plan holds all of k, or there are two.
std::vector<MmaSyncPlan> short_k_mma_plan_candidates(const GemmProblem& problem,
                                                     const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest short_k_mma_request(const GemmProblem& problem, const DeviceProperties& device,
                                  const MmaSyncPlan& plan, const ChunkAccess& access = {});

/// Refuses operands of 8 bits, and what mma_sync refuses.
std::optional<std::string> short_k_mma_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device);

/// Whether an operand's rows begin anywhere, on a device where this was measured: other kernels
/// copy it first.
bool short_k_mma_may_pay(const GemmProblem& problem, const DeviceProperties& device);

/// Whether it then does by a rule of extents, drawn before there were networks.
bool short_k_mma_pays(const GemmProblem& problem, const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_short_k_mma(Device& device, const GemmProblem& problem);
std::unique_ptr<GemmRun> prepare_short_k_mma(Device& device, const GemmProblem& problem,
                                             const MmaSyncPlan& plan);

}  // namespace tilescope::operations

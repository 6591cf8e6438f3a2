// fp32 products of few steps of k, by many small blocks (kernels/gemm/short_k.cu).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The tile of C of a block, in elements: the largest that leaves a block for each SM, else the
/// smallest.
struct ShortKTile {
  int rows = 0, columns = 0;
};
ShortKTile short_k_tile(const GemmProblem& problem, const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest short_k_request(const GemmProblem& problem, const DeviceProperties& device,
                              const ChunkAccess& access = {});

/// Refuses precisions and types other than fp32.
std::optional<std::string> short_k_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device);

/// Whether this is faster than ffma_tiles: on Hopper, where k is short.
bool short_k_pays(const GemmProblem& problem, const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

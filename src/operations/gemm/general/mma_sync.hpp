// Tensor cores through mma.sync: bf16, fp16 and tf32 on every GPU since sm_80.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The tile of C of one block and how its warps divide it, in elements.
struct MmaSyncTile {
  int rows = 0, columns = 0;
  int warp_rows = 0, warp_columns = 0;
  constexpr int threads() const { return 32 * (rows / warp_rows) * (columns / warp_columns); }
};

/// 128 x 128, or 64 x 64 where wide tiles would leave most of the device without a block.
MmaSyncTile mma_sync_tile(const GemmProblem& problem, const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest mma_sync_request(const GemmProblem& problem, const DeviceProperties& device);

/// Refuses precisions other than bf16, fp16 and tf32, operands that are not of the precision's own
/// type, and devices before sm_80.
std::optional<std::string> mma_sync_refusal(const GemmProblem& problem,
                                            const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_mma_sync(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

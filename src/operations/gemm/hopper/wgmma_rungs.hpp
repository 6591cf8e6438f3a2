// The rungs between mma.sync and the tiles that the library takes: what each technique adds to
// products on Hopper's tensor cores. docs/tensor_cores.md explains them in order.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// Refuses, for the two kernels without a producer: problems that tensor_tiles refuses, a
/// column-major A, and operands whose rows (or matrices of a batch) are not multiples of 16 bytes
/// apart. A row-major B in tf32 is transposed first.
std::optional<std::string> wgmma_refusal(const GemmProblem& problem,
                                         const DeviceProperties& device);

/// One warpgroup and one stage, 64 x 128 of C in a block.
std::unique_ptr<GemmRun> prepare_wgmma(Device& device, const GemmProblem& problem);
/// Two warpgroups and four stages, 128 x 128 of C in a block.
std::unique_ptr<GemmRun> prepare_wgmma_stages(Device& device, const GemmProblem& problem);

// tensor_tiles with fixed tiles; they refuse what tensor_tiles_refusal refuses.

/// A producer and two consumers, 128 x 128 of C in a block.
std::unique_ptr<GemmRun> prepare_specialised(Device& device, const GemmProblem& problem);
/// The same with 128 x 256, or 256 x 128 where sums are promoted.
std::unique_ptr<GemmRun> prepare_wide_tiles(Device& device, const GemmProblem& problem);
/// The same; blocks take tile after tile.
std::unique_ptr<GemmRun> prepare_persistent(Device& device, const GemmProblem& problem);
/// The same; two blocks share tiles of B.
std::unique_ptr<GemmRun> prepare_cluster(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

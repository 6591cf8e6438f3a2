// Products on tensor cores by persistent blocks that the copy engine feeds (wgmma, sm_90a).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/hopper/tensor_tile.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

std::optional<std::string> tensor_tiles_refusal(const GemmProblem& problem,
                                                const DeviceProperties& device);
/// False where wgmma needs a copy of an operand first, since both lie across k, and mma_sync, which
/// takes them as they are, has long multiplied these few steps.
bool tensor_tiles_pay(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_tensor_tiles(Device& device, const GemmProblem& problem);
/// The same with a tile of the caller's choice. Throws Error(usage) if its panel is not all of k.
std::unique_ptr<GemmRun> prepare_tensor_tiles(Device& device, const GemmProblem& problem,
                                              const TensorTile& tile);

/// Whether the kernel with this tile reads rows of A that begin anywhere: where they begin
/// elsewhere, other products are added in one step of k.
bool begins_anywhere(const GemmProblem& problem, const TensorTile& tile);

/// Whether the kernel with this tile can run while B's columns arrive: it reads B where it lies,
/// and the first columns first.
bool awaits_columns(const GemmProblem& problem, const GemmAddresses& addresses,
                    const TensorTile& tile);

/// The reason if no tile with a panel of B in shared memory computes the problem.
std::optional<std::string> panel_tiles_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device);
/// Prepares the problem with the best such tile.
std::unique_ptr<GemmRun> prepare_panel_tiles(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

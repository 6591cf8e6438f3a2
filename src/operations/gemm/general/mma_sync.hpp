// Tensor cores through mma.sync: bf16, fp16, tf32 and int8 on every GPU since sm_80, 8-bit floats
// since sm_89, fp16 and int8 on sm_75.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The tile of C of one block and how its warps divide it, in elements.
struct MmaSyncTile {
  int rows = 0, columns = 0;
  int warp_rows = 0, warp_columns = 0;
  int blocks_per_sm = 0;  ///< for which the kernel's registers are limited
  /// The share of the tensor cores' rate that 1, 2, ... blocks reach together on an SM.
  std::array<double, 4> rates{};
  constexpr int threads() const { return 32 * (rows / warp_rows) * (columns / warp_columns); }
};

/// A tile, what lies in shared memory, and the tiles that several blocks share by dividing k, so
/// that all SMs have work: all tiles of a small C, those of the last round of a larger one.
struct MmaSyncPlan {
  MmaSyncTile tile;
  int depth_bytes = 0;  ///< of k in a stage
  int stages = 0;
  int parts = 1;                  ///< blocks of a shared tile
  std::int64_t shared_tiles = 0;  ///< the last of all tiles; none if parts is 1
  std::int64_t k_of_part = 0;     ///< steps of k in each part but the last
  double cycles = 0.0;            ///< expected
};

/// The tiles that cover all C.
std::int64_t mma_tiles_of_c(const GemmProblem& problem, const MmaSyncTile& tile);

/// The tiles that the device's kernels are made for.
std::span<const MmaSyncTile> mma_sync_tiles(const DeviceProperties& device);

/// The bytes of a stage: tiles of A and B, and a chunk for each row that begins anywhere.
std::size_t mma_stage_bytes(const GemmProblem& problem, const ChunkAccess& access,
                            const MmaSyncTile& tile, int depth_bytes);

/// Whether a block's threads share the rows of such stages evenly, as the kernels' Copier asks:
/// rows that are copied by the same thread exchange their chunks in the same way.
bool mma_copies_share_rows(const GemmProblem& problem, const MmaSyncTile& tile, int depth_bytes);

/// A tile with as many stages as shared memory holds, k in one part; nothing if there are not two.
std::optional<MmaSyncPlan> mma_sync_stages(const GemmProblem& problem, const ChunkAccess& access,
                                           const MmaSyncTile& tile, const DeviceProperties& device);

/// The shared memory of a block.
std::size_t mma_sync_shared_bytes(const GemmProblem& problem, const ChunkAccess& access,
                                  const MmaSyncPlan& plan);

/// The constants of kernels/gemm/mma_tile.cuh and the epilogue's.
Defines mma_sync_constants(const GemmProblem& problem, const DeviceProperties& device,
                           const MmaSyncPlan& plan);

/// The plans that the device can run, the fastest by a model of their time first.
std::vector<MmaSyncPlan> mma_sync_plan_candidates(const GemmProblem& problem,
                                                  const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest mma_sync_request(const GemmProblem& problem, const DeviceProperties& device,
                               const MmaSyncPlan& plan, const ChunkAccess& access = {});

/// Refuses precisions that mma.sync does not multiply on the device, operands that are not of the
/// precision's own type, and scales.
std::optional<std::string> mma_sync_refusal(const GemmProblem& problem,
                                            const DeviceProperties& device);

/// Which tiles of C several blocks share, by dividing k (GemmVariant::order_of_sums).
std::string mma_sync_order(const GemmProblem& problem, const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_mma_sync(Device& device, const GemmProblem& problem);
std::unique_ptr<GemmRun> prepare_mma_sync(Device& device, const GemmProblem& problem,
                                          const MmaSyncPlan& plan);

}  // namespace tilescope::operations

// Tensor cores in float64, through mma.sync: on every GPU since sm_80.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The tile of C of one block and how its warps divide it, in elements.
struct Fp64Tile {
  int rows = 0, columns = 0;
  int warp_rows = 0, warp_columns = 0;
  int slices = 1;              ///< groups of warps that share the steps of k
  int depth = 16, stages = 4;  ///< steps of k in a stage
  int blocks_per_sm = 0;       ///< for which the kernel's registers are limited
  /// The share of the tensor cores' rate that 1, 2, ... blocks reach together on an SM.
  std::array<double, 3> rates{};
  constexpr int threads() const {
    return 32 * (rows / warp_rows) * (columns / warp_columns) * slices;
  }
};

/// A tile, and the parts into which k is cut so that all SMs have work.
struct Fp64Plan {
  Fp64Tile tile;
  int splits = 1;
  std::int64_t k_of_part = 0;  ///< steps of k in each part but the last
  double cycles = 0.0;         ///< expected
};

/// The plans that the device can run, the fastest by a model of their time first.
std::vector<Fp64Plan> fp64_plan_candidates(const GemmProblem& problem,
                                           const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest fp64_tiles_request(const GemmProblem& problem, const DeviceProperties& device,
                                 const Fp64Plan& plan, const ChunkAccess& access = {});

/// Refuses precisions other than fp64, operands that are not float64, and devices before sm_80.
std::optional<std::string> fp64_tiles_refusal(const GemmProblem& problem,
                                              const DeviceProperties& device);

/// Whether the device multiplies float64 faster by mma.sync than by DFMA: sm_80 and sm_90 do.
bool fp64_tiles_pay(const GemmProblem& problem, const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_fp64_tiles(Device& device, const GemmProblem& problem);
std::unique_ptr<GemmRun> prepare_fp64_tiles(Device& device, const GemmProblem& problem,
                                            const Fp64Plan& plan);

}  // namespace tilescope::operations

// Tensor cores in float64, through mma.sync: on every GPU since sm_80.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The tile of C of one block and how its warps divide it, in elements.
struct Fp64Tile {
  int rows = 0, columns = 0;
  int warp_rows = 0, warp_columns = 0;
  int blocks_per_sm = 0;  ///< for which the kernel's registers are limited
  constexpr int threads() const { return 32 * (rows / warp_rows) * (columns / warp_columns); }
};

/// 128 x 128, or 64 x 64 where wide tiles would leave most of the device without a block or need
/// more shared memory than it has.
Fp64Tile fp64_tile(const GemmProblem& problem, const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest fp64_tiles_request(const GemmProblem& problem, const DeviceProperties& device);

/// Refuses precisions other than fp64, operands that are not float64, and devices before sm_80.
std::optional<std::string> fp64_tiles_refusal(const GemmProblem& problem,
                                              const DeviceProperties& device);

/// Whether the device multiplies float64 faster by mma.sync than by DFMA: sm_80 and sm_90 do.
bool fp64_tiles_pay(const GemmProblem& problem, const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_fp64_tiles(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations

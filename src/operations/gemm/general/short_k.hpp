// fp32 products of few steps of k, by many small blocks (kernels/gemm/short_k.cu).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// How a block computes its tile of C: `warps_down` x `warps_across` warps of 4 x 8 lanes, each
/// with `thread_m` x `thread_n` sums. `slices` groups of such warps share the `depth` steps of k of
/// each of `stages` buffers.
struct ShortKTile {
  int thread_m = 0, thread_n = 0;
  int warps_down = 0, warps_across = 0;
  int slices = 1;
  int depth = 0, stages = 0;

  int rows() const { return 4 * thread_m * warps_down; }
  int columns() const { return 8 * thread_n * warps_across; }
  int threads() const { return 32 * warps_down * warps_across * slices; }
};

struct ShortKPlan {
  ShortKTile tile{};
  int blocks_per_sm = 0;
  double cycles = 0.0;  ///< expected by the model
};

/// The plans of all tiles, the fastest by a model of their time first. Extents are at least 1.
std::vector<ShortKPlan> short_k_plan_candidates(const GemmProblem& problem,
                                                const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest short_k_request(const GemmProblem& problem, const ShortKPlan& plan,
                              const ChunkAccess& access = {});

/// Refuses precisions and types other than fp32.
std::optional<std::string> short_k_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem);
std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem,
                                         const ShortKPlan& plan);

}  // namespace tilescope::operations

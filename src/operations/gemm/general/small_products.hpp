// Many small products in one launch: blocks that take whole ones (kernels/gemm/small_products.cu).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// The tile of a block, which holds a whole C, how its warps divide it, and what lies in shared
/// memory.
struct SmallPlan {
  int rows = 0, columns = 0;
  int warp_rows = 0, warp_columns = 0;
  int depth_bytes = 0;  ///< of k in a stage
  int stages = 0;
  int blocks_per_sm = 0;
  double cycles = 0.0;  ///< expected
  constexpr int threads() const { return 32 * (rows / warp_rows) * (columns / warp_columns); }
};

/// The plans that the device can run, the fastest by a model of their time first.
std::vector<SmallPlan> small_plan_candidates(const GemmProblem& problem,
                                             const DeviceProperties& device);

/// The compilation for a problem.
KernelRequest small_products_request(const GemmProblem& problem, const DeviceProperties& device,
                                     const SmallPlan& plan, const ChunkAccess& access = {});

/// Refuses C of more than 128 rows or columns, operands of 8 bits that do not lie along k, fp64,
/// and what mma_sync refuses of the other precisions but fp32.
std::optional<std::string> small_products_refusal(const GemmProblem& problem,
                                                  const DeviceProperties& device);

/// Whether the products are many, and k is short.
bool small_products_pay(const GemmProblem& problem, const DeviceProperties& device);

std::unique_ptr<GemmRun> prepare_small_products(Device& device, const GemmProblem& problem);
std::unique_ptr<GemmRun> prepare_small_products(Device& device, const GemmProblem& problem,
                                                const SmallPlan& plan);

}  // namespace tilescope::operations

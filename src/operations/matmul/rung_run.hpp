// A rung of the ladder as a run of a product in device memory.
#pragma once

#include <memory>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/matmul/matmul_variants.hpp"

namespace tilescope::operations {

/// The plain problem A * B by a rung that can compute it. Operands are copied where the rung takes
/// another type or order, or padded extents.
std::unique_ptr<GemmRun> prepare_rung(Device& device, const MatmulVariant& variant,
                                      const GemmProblem& problem);

}  // namespace tilescope::operations

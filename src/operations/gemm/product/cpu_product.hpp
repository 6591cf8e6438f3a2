// Products on the CPU: OpenBLAS on operands that are rounded as the precision says.
#pragma once

#include <tilescope/matmul.hpp>

#include "operations/gemm/problem/host_problem.hpp"

namespace tilescope::operations {

/// Computes the problem with `cpu_blas`, or without any library if k is 0. Tensor-core precisions
/// have the same operands, with sums in float32. fp32_fast is fp32, and the report says so.
MatmulReport multiply_on_cpu(const HostProblem& problem);

}  // namespace tilescope::operations

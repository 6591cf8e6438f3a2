// Products on the CPU: OpenBLAS on operands that are rounded as the precision says.
#pragma once

#include <tilescope/matmul.hpp>

#include "operations/gemm/problem/host_problem.hpp"

namespace tilescope::operations {

/// Computes the problem with `cpu_blas`, or without any library if k is 0. Tensor-core precisions
/// have the same operands, with sums in float32. fp32_fast is fp32, and the report says so.
MatmulReport multiply_on_cpu(const HostProblem& problem);

/// The two halves of multiply_on_cpu() for one matrix, for products whose operands come in parts:
/// the bits are the same where parts begin and end between the cells of the whole product's
/// blas_cell(). Adds A * B to sums of the type sum_type(precision), or sets them to it.
void add_on_cpu(const ConstMatrixView& a, const ConstMatrixView& b, Precision precision,
                const MatrixView& sums, const MatmulShape& cell, bool accumulate);
/// Computes C of a problem with one matrix from the sums, which may be C itself if beta is 0. Reads
/// neither A nor B.
void finish_on_cpu(const HostProblem& problem, const ConstMatrixView& sums);

}  // namespace tilescope::operations

// A product of matrices in host memory, as in the public call, checked and made uniform.
#pragma once

#include <tilescope/matmul.hpp>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// C = activation(alpha * A * B + beta * C + bias), batched, with a precision that is not
/// `automatic`.
struct HostProblem {
  ConstMatrixBatch a, b;
  MatrixBatch c;
  Precision precision = Precision::fp32;
  double alpha = 1.0, beta = 0.0;
  std::span<const float> bias;
  bool bias_per_row = false;  ///< else per column
  Activation activation = Activation::none;
  /// Factors of A and B, if their layouts exist.
  const float *scales_of_a = nullptr, *scales_of_b = nullptr;
  ScaleLayout scale_a, scale_b;

  MatmulShape shape() const { return product_shape(a.first, b.first); }
  std::int64_t batch() const { return c.count; }
  /// Whether the problem is C = A * B and nothing else, but for factors of A and B.
  bool plain() const;
};

/// The problem of a public call. Throws Error(usage) for arguments that do not fit. Whether C has
/// memory of its own is another question.
HostProblem host_problem(const ConstMatrixBatch& a, const ConstMatrixBatch& b, const MatrixBatch& c,
                         const MatmulOptions& options);

/// Throws Error(usage) for scales, which products of lists do not have.
void require_unscaled(const MatmulOptions& options);

/// Throws Error(usage) for a C that shares memory with A, B or the bias.
void require_own_memory(const HostProblem& problem);

/// The same problem with a row-major C: for a column-major C the transposed product, B^T A^T.
HostProblem with_rows_of_c(const HostProblem& problem);

/// Matrix `index` of a batch.
ConstMatrixView matrix_of(const ConstMatrixBatch& batch, std::int64_t index);
MatrixView matrix_of(const MatrixBatch& batch, std::int64_t index);

}  // namespace tilescope::operations

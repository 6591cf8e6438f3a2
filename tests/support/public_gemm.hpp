// The public call for a random problem in host memory.
#pragma once

#include <tilescope/matmul.hpp>
#include <utility>

#include "support/random_gemm.hpp"

namespace tilescope::testing {

template <typename Batch>
Batch flipped(Batch batch) {
  std::swap(batch.first.rows, batch.first.columns);
  batch.first.order =
      batch.first.order == Order::row_major ? Order::column_major : Order::row_major;
  return batch;
}

/// C after the public call for the problem of a case, and the call's report.
struct PublicGemm {
  GemmMatrices c;
  MatmulReport report;
};
inline PublicGemm public_gemm(Device& device, const GemmCase& of) {
  PublicGemm result{.c = of.c, .report = {}};
  const auto view = [](const GemmMatrices& m) {
    return ConstMatrixView{.data = m.image().data() + m.first(),
                           .type = m.operand().type,
                           .rows = m.rows(),
                           .columns = m.columns(),
                           .order = m.operand().order,
                           .leading = m.operand().leading};
  };
  const operations::GemmProblem& p = of.problem;
  const ConstMatrixBatch a{view(of.a), p.batch, p.a.batch_stride};
  const ConstMatrixBatch b{view(of.b), p.batch, p.b.batch_stride};
  const MatrixBatch c{{view(result.c)}, p.batch, p.c.batch_stride};
  const MatmulOptions options{.precision = p.precision,
                              .alpha = p.alpha,
                              .beta = p.beta,
                              .bias = of.bias,
                              .activation = p.activation};
  // A bias for each row is one for each column of the transposed product, which also makes
  // column-major results.
  result.report = p.bias_per_row
                      ? matmul_batched(device, flipped(b), flipped(a), flipped(c), options)
                      : matmul_batched(device, a, b, c, options);
  return result;
}

}  // namespace tilescope::testing

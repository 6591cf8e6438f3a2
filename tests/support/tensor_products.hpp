// Products on tensor cores whose operands and results are of one type.
#pragma once

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::testing {

/// A dense row-major m x n x k product.
inline operations::GemmProblem tensor_product(std::int64_t m, std::int64_t n, std::int64_t k,
                                              Precision precision = Precision::bf16) {
  const DataType type = operations::operand_type(precision);
  return operations::dense_problem({m, n, k}, precision, type, type);
}

}  // namespace tilescope::testing

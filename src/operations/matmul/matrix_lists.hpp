// Lists of matrices at any addresses, as a public call takes them.
#pragma once

#include <span>
#include <tilescope/matmul.hpp>
#include <vector>

#include "operations/gemm/problem/host_problem.hpp"

namespace tilescope::operations {

/// The matrices of as many products.
struct MatrixLists {
  std::span<const ConstMatrixView> a, b;
  std::span<const MatrixView> c;

  /// The products, checked one by one. Throws Error(usage) for lists of different lengths or none,
  /// for a C that shares memory with A, B or another C, for products that differ in types, and for
  /// a bias beside different columns or orders of C.
  std::vector<HostProblem> problems(const Device& device, const MatmulOptions& options) const;

  /// Whether all products have one shape, and their matrices one order and leading dimension.
  bool is_alike() const;
  /// Whether they are alike and the matrices of each list equally far apart.
  bool is_batch() const;
  /// The batch that they are.
  HostProblem batch(const HostProblem& first) const;
};

}  // namespace tilescope::operations

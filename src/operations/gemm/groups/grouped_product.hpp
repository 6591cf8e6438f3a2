// One of the products that a launch computes together.
#pragma once

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// A product, and where its matrices lie.
struct GroupedProduct {
  GemmProblem problem;
  GemmAddresses at;
};

}  // namespace tilescope::operations

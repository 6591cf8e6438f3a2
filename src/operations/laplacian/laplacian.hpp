// The five-point Laplacian on a grid, once or many times.
#pragma once

#include <memory>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

/// One step is out = center * in + side * (north + south + west + east), with zeros outside.
struct LaplacianProblem {
  std::int64_t rows = 0, columns = 0;
  std::int64_t iterations = 1;
  double center = -4.0, side = 1.0;
};

/// `in` has rows * columns elements, row by row.
Task laplacian_task(const ConstArrayView& in, const LaplacianProblem& problem);
std::unique_ptr<Operation> make_laplacian(const ProblemOptions& options);

}  // namespace tilescope::operations

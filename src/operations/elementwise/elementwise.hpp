// Element-by-element operations: saxpb, vector_add, scale.
#pragma once

#include <memory>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

struct SaxpbProblem {
  double a = 0.0, b = 0.0;
  std::int64_t blocks = 0;      ///< for kernels whose grid is free; 0: blocks of 256 threads
  std::int64_t iterations = 1;  ///< launches a run
};
Task saxpb_task(const ConstArrayView& x, const SaxpbProblem& problem);
Task vector_add_task(const ConstArrayView& a, const ConstArrayView& b);
/// `in` has rows * columns elements.
Task scale_task(const ConstArrayView& in, std::int64_t rows, std::int64_t columns, double factor);

std::unique_ptr<Operation> make_saxpb(const ProblemOptions& options);
std::unique_ptr<Operation> make_vector_add(const ProblemOptions& options);
std::unique_ptr<Operation> make_scale(const ProblemOptions& options);

/// Throws Error(usage) unless `output` has the type and the length of `input`.
void require_like(const char* operation, const ConstArrayView& input, const ConstArrayView& output);
/// Throws Error(usage) unless the elements are float32 or float64.
void require_real(const char* operation, const ConstArrayView& input);

}  // namespace tilescope::operations

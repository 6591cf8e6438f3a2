// Transposes matrices.
#pragma once

#include <memory>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

/// `in` has rows * columns elements, row by row.
Task transpose_task(const ConstArrayView& in, std::int64_t rows, std::int64_t columns);
std::unique_ptr<Operation> make_transpose(const ProblemOptions& options);

}  // namespace tilescope::operations

// Reverses lists.
#pragma once

#include <memory>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

Task reverse_task(const ConstArrayView& x);
std::unique_ptr<Operation> make_reverse(const ProblemOptions& options);

}  // namespace tilescope::operations

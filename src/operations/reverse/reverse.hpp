// Lists backwards.
#pragma once

#include <memory>

#include "operations/registry.hpp"
#include "operations/task.hpp"

namespace tilescope::operations {

Task reverse_task(const ConstArrayView& x);
std::unique_ptr<Operation> make_reverse(const ProblemOptions& options);

}  // namespace tilescope::operations

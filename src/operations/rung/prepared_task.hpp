// A task on lists in a device's memory, ready to run.
#pragma once

#include <string>
#include <tilescope/prepared_operation.hpp>

#include "operations/rung/task.hpp"

namespace tilescope::operations {

/// The inputs of `task` and `output` lie in the device's memory. `variant` as in run_task().
PreparedOperation prepare_task(Device& device, const Task& task, const std::string& variant,
                               void* output);

}  // namespace tilescope::operations

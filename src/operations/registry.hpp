// All operations by name, for the ladder and every other command that takes OPERATION.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"

namespace tilescope::operations {

struct RegisteredOperation {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> options;  ///< options of ProblemOptions that it takes, as "--size"
  std::unique_ptr<Operation> (*make)(const ProblemOptions& options);
};

/// All operations, in the order in which they are shown.
const std::vector<RegisteredOperation>& registered_operations();

/// By its name; "reduction" is taken for "reduce". Throws Error(usage) that suggests the nearest
/// name.
const RegisteredOperation& registered_operation(std::string_view name);

/// Makes a problem with random data. Throws Error(usage) for a name that does not exist, an option
/// that the operation does not take, or a value outside its range.
std::unique_ptr<Operation> make_operation(std::string_view name, const ProblemOptions& options);

}  // namespace tilescope::operations

// All operations by name: what the ladder, and every other command that takes OPERATION, offers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/operation.hpp"

namespace tilescope::operations {

/// The sizes and choices that make a problem of an operation. Every operation takes some of them
/// and has a default for each it takes.
struct ProblemOptions {
  std::optional<std::int64_t> size;           ///< elements, or the extent in every dimension
  std::optional<std::int64_t> rows, columns;  ///< m, n
  std::optional<std::int64_t> inner;          ///< k
  std::optional<std::int64_t> radius, channels, iterations, bins;
  std::optional<std::string> type;       ///< of the elements, such as "float64"
  std::optional<std::string> data;       ///< how they are distributed: random, constant, ...
  std::optional<std::string> reduction;  ///< sum, min, max, argmax
  std::optional<std::string> precision;  ///< of a product: fp32, bf16, ...
  std::uint64_t seed = 1;
};

struct RegisteredOperation {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> options;  ///< those of ProblemOptions it takes, as "--size"
  std::unique_ptr<Operation> (*make)(const ProblemOptions& options);
};

/// All of them, in the order in which they are shown.
const std::vector<RegisteredOperation>& registered_operations();

/// Throws Error(usage) that suggests the nearest name.
const RegisteredOperation& registered_operation(std::string_view name);

/// Makes a problem with random data. Throws Error(usage) for a name that does not exist, an option
/// that the operation does not take, or a value outside its range.
std::unique_ptr<Operation> make_operation(std::string_view name, const ProblemOptions& options);

}  // namespace tilescope::operations

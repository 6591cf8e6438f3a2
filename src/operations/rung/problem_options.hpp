// Reads the options of a problem, with defaults and ranges.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <tilescope/problem_options.hpp>
#include <tilescope/types.hpp>

#include "base/errors.hpp"

namespace tilescope::operations {

/// The largest problem: 2^33 elements.
constexpr std::int64_t most_elements = std::int64_t{1} << 33U;

/// `given`, or `by_default`; throws Error(usage) outside [least, most].
inline std::int64_t option_in_range(const char* name, const std::optional<std::int64_t>& given,
                                    std::int64_t by_default, std::int64_t least,
                                    std::int64_t most) {
  const std::int64_t value = given.value_or(by_default);
  if (value < least || value > most) {
    throw usage_error("{} {}: must be from {} to {}", name, value, least, most);
  }
  return value;
}

/// The number of elements of a list.
inline std::int64_t list_size(const ProblemOptions& options, std::int64_t by_default) {
  return option_in_range("--size", options.size, by_default, 0, most_elements);
}

/// Throws Error(usage) for a matrix that is too large.
inline void require_elements(std::int64_t rows, std::int64_t columns) {
  if (columns == 0 || rows <= most_elements / columns) return;
  throw usage_error("{} x {}: at most {} elements", rows, columns, most_elements);
}

/// Rows and columns of a matrix or picture, both --size unless given.
struct Extents {
  std::int64_t rows = 0, columns = 0;
};
inline Extents extents(const ProblemOptions& options, std::int64_t by_default) {
  constexpr std::int64_t most = std::int64_t{1} << 30U;
  const std::int64_t side = option_in_range("--size", options.size, by_default, 0, most);
  const Extents e{option_in_range("--rows", options.rows, side, 0, most),
                  option_in_range("--columns", options.columns, side, 0, most)};
  require_elements(e.rows, e.columns);
  return e;
}

/// A type among `allowed`, the first by default.
inline DataType type_among(std::string_view operation, const std::optional<std::string>& given,
                           std::initializer_list<DataType> allowed) {
  const DataType type = given ? parse_data_type(*given) : *allowed.begin();
  if (std::find(allowed.begin(), allowed.end(), type) != allowed.end()) return type;
  std::string names;
  for (const DataType one : allowed) names += fmt::format(" {}", name_of(one));
  throw usage_error("{} does not take {} elements; it takes{}", operation, name_of(type), names);
}

}  // namespace tilescope::operations

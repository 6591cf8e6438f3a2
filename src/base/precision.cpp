#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tilescope/matmul.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

// By the value of Precision.
constexpr std::string_view precision_names[] = {"auto", "fp32", "fp32_fast", "tf32",
                                                "bf16", "fp16", "fp64"};

}  // namespace

std::string_view name_of(Precision precision) {
  return precision_names[static_cast<std::size_t>(precision)];
}

Precision parse_precision(std::string_view name) {
  const auto* const found = std::find(std::begin(precision_names), std::end(precision_names), name);
  if (found != std::end(precision_names)) return static_cast<Precision>(found - precision_names);
  const std::string_view near =
      nearest(name, {std::begin(precision_names), std::end(precision_names)});
  throw usage_error("there is no precision \"{}\"{}", printable(name, 40),
                    near.empty() ? fmt::format("; there are {}", fmt::join(precision_names, ", "))
                                 : fmt::format(", did you mean {}?", near));
}

}  // namespace tilescope

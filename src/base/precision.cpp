#include "base/precision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

// By the value of Precision.
constexpr std::string_view all_names[] = {"auto", "fp32", "fp32_fast", "tf32",     "bf16",
                                          "fp16", "fp64", "fp8_e4m3",  "fp8_e5m2", "int8"};

}  // namespace

std::span<const std::string_view> precision_names() {
  return all_names;
}

std::string_view name_of(Precision precision) {
  return all_names[static_cast<std::size_t>(precision)];
}

Precision parse_precision(std::string_view name) {
  const auto* const found = std::find(std::begin(all_names), std::end(all_names), name);
  if (found != std::end(all_names)) return static_cast<Precision>(found - all_names);
  const std::string_view near = nearest(name, {std::begin(all_names), std::end(all_names)});
  throw usage_error("there is no precision \"{}\"{}", printable(name, 40),
                    near.empty() ? fmt::format("; there are {}", fmt::join(all_names, ", "))
                                 : fmt::format(", did you mean {}?", near));
}

}  // namespace tilescope

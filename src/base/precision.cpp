#include <fmt/format.h>

#include <string>
#include <tilescope/error.hpp>
#include <tilescope/matmul.hpp>
#include <vector>

#include "base/text.hpp"

namespace tilescope {
namespace {

constexpr Precision all_precisions[] = {Precision::automatic, Precision::fp32, Precision::fp32_fast,
                                        Precision::tf32,      Precision::bf16, Precision::fp16,
                                        Precision::fp64};

}  // namespace

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::automatic:
      return "auto";
    case Precision::fp32:
      return "fp32";
    case Precision::fp32_fast:
      return "fp32_fast";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
    case Precision::fp64:
      return "fp64";
  }
  return "auto";
}

Precision parse_precision(std::string_view name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Precision precision : all_precisions) {
    if (name_of(precision) == name) return precision;
    names.push_back(name_of(precision));
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name_of(precision));
  }
  const std::string_view near = nearest(name, names);
  throw Error(
      ErrorKind::usage,
      fmt::format("there is no precision \"{}\"{}", printable(name, 40),
                  near.empty() ? "; there are " + list : fmt::format(", did you mean {}?", near)));
}

}  // namespace tilescope

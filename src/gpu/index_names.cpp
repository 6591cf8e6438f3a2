#include "gpu/index_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope::gpu {

using expression::Definitions;
using expression::Expression;

const std::vector<std::string>& builtin_names() {
  static const std::vector<std::string> names{
      "threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y",
      "blockIdx.z",  "blockDim.x",  "blockDim.y",  "blockDim.z", "gridDim.x",
      "gridDim.y",   "gridDim.z",   "warpSize"};
  return names;
}

std::vector<std::int64_t> builtin_values(const Dim3& thread, const Dim3& block_index,
                                         const Launch& launch, int warp_size) {
  return {thread.x,      thread.y,       thread.z,       block_index.x,  block_index.y,
          block_index.z, launch.block.x, launch.block.y, launch.block.z, launch.grid.x,
          launch.grid.y, launch.grid.z,  warp_size};
}

const Definitions& standard_definitions() {
  static const Definitions definitions = [] {
    Definitions result;
    const char* const axes[] = {"x", "y", "z"};
    for (const char* axis : axes) {
      result[fmt::format("t{}", axis)] = Expression::parse(fmt::format("threadIdx.{}", axis));
      result[fmt::format("b{}", axis)] = Expression::parse(fmt::format("blockIdx.{}", axis));
    }
    const Expression x = Expression::parse("blockIdx.x * blockDim.x + threadIdx.x");
    const Expression y = Expression::parse("blockIdx.y * blockDim.y + threadIdx.y");
    for (const char* name : {"col", "Col", "gx", "i"}) result[name] = x;
    for (const char* name : {"row", "Row", "gy", "j"}) result[name] = y;
    return result;
  }();
  return definitions;
}

Definitions definitions_with(const std::map<std::string, std::string>& given) {
  Definitions result = standard_definitions();
  for (const auto& [name, text] : given) {
    const auto& builtins = builtin_names();
    if (std::find(builtins.begin(), builtins.end(), name) != builtins.end()) {
      throw usage_error("{} is built in and cannot be defined; set the grid and the block instead",
                        name);
    }
    result[name] = Expression::parse(text);
  }
  return result;
}

BoundExpression::BoundExpression(const Expression& expression,
                                 const std::vector<std::string>& extra)
    : expression_(expression) {
  std::vector<std::string> names = builtin_names();
  names.insert(names.end(), extra.begin(), extra.end());
  for (const std::string& variable : expression_.variables()) {
    const auto found = std::find(names.begin(), names.end(), variable);
    if (found == names.end()) {
      const std::vector<std::string_view> views(names.begin(), names.end());
      const std::string_view near = nearest(variable, views);
      throw usage_error(
          "\"{}\" has no value{}; give it one with --let {}=VALUE", printable(variable, 60),
          near.empty() ? "" : fmt::format(" (did you mean {}?)", near), printable(variable, 60));
    }
    sources_.push_back(static_cast<std::size_t>(found - names.begin()));
  }
}

std::int64_t BoundExpression::evaluate(const std::vector<std::int64_t>& values) const {
  std::array<std::int64_t, 16> few{};
  std::vector<std::int64_t> many;
  std::span<std::int64_t> slots(few);
  if (sources_.size() > few.size()) {
    many.resize(sources_.size());
    slots = many;
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) slots[i] = values[sources_[i]];
  return expression_.evaluate(slots.first(sources_.size()));
}

}  // namespace tilescope::gpu

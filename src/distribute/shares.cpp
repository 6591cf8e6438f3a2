#include "distribute/shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::distribute {
namespace {

constexpr std::int64_t panel_unit = 256;  // the widest tile of any kernel

}  // namespace

std::vector<Range> shares(std::int64_t total, std::span<const double> weights, std::int64_t unit) {
  const auto parts = static_cast<std::int64_t>(weights.size());
  if (total < unit * parts) unit = 1;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const std::int64_t units = operations::groups_of(total, unit);
  std::vector<Range> ranges;
  double before = 0.0;
  std::int64_t first = 0;
  for (const double weight : weights) {
    before += weight;
    const auto end = std::min(
        total,
        static_cast<std::int64_t>(std::llround(static_cast<double>(units) * before / sum)) * unit);
    ranges.push_back({first, end - first});
    first = end;
  }
  ranges.back().count += total - ranges.back().end();  // rounding of the last sum
  return ranges;
}

std::vector<Range> panels_of(std::int64_t columns, std::int64_t least) {
  constexpr std::int64_t parts = 8;
  const std::int64_t width =
      operations::groups_of(std::max(operations::groups_of(columns, parts), least), panel_unit) *
      panel_unit;
  std::vector<Range> panels;
  for (std::int64_t first = 0; first < columns; first += width) {
    panels.push_back({first, std::min(width, columns - first)});
  }
  return panels;
}

}  // namespace tilescope::distribute

#include "distribute/shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::distribute {
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

std::vector<Range> equal_shares(std::int64_t total, std::int64_t parts, std::int64_t unit) {
  const std::int64_t units = operations::groups_of(total, unit);
  std::vector<Range> ranges;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t first = std::min(total, units * i / parts * unit);
    const std::int64_t end = std::min(total, units * (i + 1) / parts * unit);
    ranges.push_back({first, end - first});
  }
  return ranges;
}

}  // namespace tilescope::distribute

#include "ranks/rank_grid.hpp"

#include <algorithm>
#include <limits>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::ranks {
namespace {

std::int64_t longest_share(std::int64_t total, int parts, std::int64_t unit) {
  std::int64_t longest = 0;
  for (const Range& share : equal_shares(total, parts, unit)) {
    longest = std::max(longest, share.count);
  }
  return longest;
}

}  // namespace

RankGrid choose_grid(int ranks, const MatmulShape& shape, const MatmulShape& cell) {
  RankGrid best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int rows = 1; rows <= ranks; ++rows) {
    if (ranks % rows != 0) continue;
    const int columns = ranks / rows;
    const std::int64_t m = longest_share(shape.m, rows, cell.m),
                       n = longest_share(shape.n, columns, cell.n);
    // The rank with most work comes first: one without work does not help.
    const std::int64_t cost = m * n * 4 + (m + n) * cell.k;
    if (cost < least) best = {rows, columns};
    least = std::min(least, cost);
  }
  return best;
}

std::vector<Range> bands_of(const MatmulShape& shape, const MatmulShape& cell,
                            std::int64_t wanted) {
  if (wanted == 0) {
    constexpr double work = 1e12;
    constexpr double narrowest = 4096.0;
    const auto at_least_one = [](std::int64_t extent) {
      return static_cast<double>(std::max<std::int64_t>(extent, 1));
    };
    const double columns = work / (2.0 * at_least_one(shape.m) * at_least_one(shape.k));
    wanted =
        static_cast<std::int64_t>(std::min(std::max(columns, narrowest), at_least_one(shape.n)));
  }
  const std::int64_t width = operations::groups_of(wanted, cell.n) * cell.n;
  std::vector<Range> bands;
  for (std::int64_t first = 0; first < shape.n; first += width) {
    bands.push_back({first, std::min(width, shape.n - first)});
  }
  return bands;
}

std::vector<DepthPanel> depth_panels(const MatmulShape& shape, const MatmulShape& cell,
                                     const RankGrid& grid) {
  const std::vector<Range> of_a = equal_shares(shape.k, grid.columns, cell.k),
                           of_b = equal_shares(shape.k, grid.rows, cell.k);
  const auto owner = [](const std::vector<Range>& shares, std::int64_t k) {
    const auto found = std::find_if(shares.begin(), shares.end(),
                                    [&](const Range& share) { return k < share.end(); });
    return static_cast<int>(found - shares.begin());
  };
  std::vector<DepthPanel> panels;
  for (std::int64_t k = 0; k < shape.k;) {
    const int a = owner(of_a, k), b = owner(of_b, k);
    const std::int64_t end = std::min({k + cell.k, of_a[static_cast<std::size_t>(a)].end(),
                                       of_b[static_cast<std::size_t>(b)].end()});
    panels.push_back({{k, end - k}, a, b});
    k = end;
  }
  return panels;
}

std::vector<DepthPanel> deep_panels(const MatmulShape& shape, const MatmulShape& cell) {
  constexpr std::int64_t steps = 8;  // copies of rounded operands stay small
  std::vector<DepthPanel> panels;
  for (std::int64_t k = 0; k < shape.k; k += steps * cell.k) {
    panels.push_back({.k = {k, std::min(steps * cell.k, shape.k - k)}});
  }
  return panels;
}

}  // namespace tilescope::ranks

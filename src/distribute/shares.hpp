// How work is cut: rows, columns or elements among devices and ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::distribute {

/// Rows or columns [first, first + count).
struct Range {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Cuts `total` into a range for each weight, in proportion to the weights, which are positive.
/// Ranges begin at multiples of `unit` as long as each device then gets some; the last may be short
/// or empty.
std::vector<Range> shares(std::int64_t total, std::span<const double> weights, std::int64_t unit);

/// `total` in `parts` about equal ranges that begin at multiples of `unit`; some may be empty.
std::vector<Range> equal_shares(std::int64_t total, std::int64_t parts, std::int64_t unit);

}  // namespace tilescope::distribute

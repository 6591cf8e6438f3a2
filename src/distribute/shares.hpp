// How one product is cut: rows among devices, columns into panels.
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

/// The panels of C's columns, in the order in which they are computed: eighths, since nothing is
/// computed while the first arrives, but none of fewer than `least` columns.
std::vector<Range> panels_of(std::int64_t columns, std::int64_t least);

}  // namespace tilescope::distribute

// Rows of cells that the same blocks touched in one way: the short form of TouchRecords.
#pragma once

#include <cstdint>

#include "observe/check/cell_rows.hpp"
#include "observe/check/touch_records.hpp"

namespace tilescope::observe {

/// The threads of a block that touched the cells of a row.
struct RowThreads {
  AccessTag lane_0;  ///< the tag of lane 0
  LaneOrder lanes;

  AccessTag tag(std::uint32_t cell) const { return {lane_0.bits | lanes.lane(cell) << 2}; }
  RowThreads from(std::uint32_t cell) const { return {lane_0, lanes.from(cell)}; }
  friend bool operator==(const RowThreads& a, const RowThreads& b) {
    return a.lane_0.bits == b.lane_0.bits && a.lanes == b.lanes;
  }
};

/// As Touch.
struct TouchRow {
  std::uint8_t begin = 0, end = 0;  ///< cells of the page
  std::uint32_t lowest = Touch::kNobody, highest = 0;
  RowThreads of_lowest, of_highest;

  TouchRow from(std::uint32_t cell) const {
    return {begin, end, lowest, highest, of_lowest.from(cell), of_highest.from(cell)};
  }
  Touch at(std::uint32_t cell) const {
    return {lowest, highest, of_lowest.tag(cell - begin), of_highest.tag(cell - begin)};
  }
  void note(std::uint32_t block, const RowThreads& threads) {
    if (lowest == Touch::kNobody || block > highest) highest = block, of_highest = threads;
    if (block < lowest) lowest = block, of_lowest = threads;
  }
  bool continues(const TouchRow& row) const {
    const std::uint32_t cells = row.end - row.begin;
    return lowest == row.lowest && highest == row.highest &&
           of_lowest == row.of_lowest.from(cells) && of_highest == row.of_highest.from(cells);
  }
};

class TouchRows : public RowList<TouchRow, 6> {
 public:
  /// False, and nothing noted, if there is no room.
  bool note(std::uint32_t from, std::uint32_t to, std::uint32_t block, const RowThreads& threads) {
    const auto [first, last] = cover(from, to);
    if (first == nullptr) return false;
    for (TouchRow* row = first; row != last; ++row) {
      row->note(block, threads.from(row->begin - from));
    }
    join(first, last);
    return true;
  }
};

}  // namespace tilescope::observe

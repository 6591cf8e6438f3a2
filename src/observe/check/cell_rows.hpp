// Rows of neighbouring cells that warps access with their lanes in order.
//
// Most accesses to global memory are by lanes that follow each other, so one record serves a whole
// row of cells: each lane's next to it, or all by the same lane. A page begins with rows and gets
// records of cells (CellRecords) only if rows do not tell enough.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "observe/access_tag.hpp"

namespace tilescope::observe {

/// The lanes of the cells of a row: that of cell i is (phase + i) >> shift.
struct LaneOrder {
  static constexpr std::uint16_t kOne = 8;  ///< this shift: one lane for all
  std::uint16_t phase = 0, shift = kOne;

  std::uint32_t lane(std::uint32_t cell) const {
    return (phase + (shift == kOne ? 0 : cell)) >> shift;
  }
  /// From a later cell on.
  LaneOrder from(std::uint32_t cell) const {
    return {static_cast<std::uint16_t>(phase + (shift == kOne ? 0 : cell)), shift};
  }
  /// Each lane so much higher.
  LaneOrder higher(std::uint32_t lanes) const {
    return {static_cast<std::uint16_t>(phase + (lanes << shift)), shift};
  }
  /// Whether no cell has the same lane in both; false too where that is not seen at once.
  bool is_apart(LaneOrder other) const {
    const std::uint32_t distance =
        phase < other.phase ? other.phase - phase : std::uint32_t{phase} - other.phase;
    return shift == other.shift && distance >= 1u << shift;
  }
  friend bool operator==(LaneOrder, LaneOrder) = default;
};

/// An access to each cell of a row.
struct RowEvent {
  std::uint32_t time = 0;
  AccessTag lane_0;  ///< the tag of lane 0
  LaneOrder lanes;

  AccessTag tag(std::uint32_t cell) const { return {lane_0.bits | lanes.lane(cell) << 2}; }
  Event at(std::uint32_t cell) const { return {time, tag(cell)}; }
  RowEvent from(std::uint32_t cell) const { return {time, lane_0, lanes.from(cell)}; }
  friend bool operator==(const RowEvent& a, const RowEvent& b) {
    return a.time == b.time && a.lane_0.bits == b.lane_0.bits && a.lanes == b.lanes;
  }
};

/// Disjoint rows in ascending order. Row: `begin`, `end`, from(cell) (what later cells have), and
/// continues(row): whether both may be one if they are neighbours.
template <class Row, std::size_t kMostRows>
class RowList {
 public:
  static constexpr std::size_t kMost = kMostRows;
  Row* begin() { return rows_.data(); }
  Row* end() { return rows_.data() + count_; }
  const Row* begin() const { return rows_.data(); }
  const Row* end() const { return rows_.data() + count_; }
  void clear() { count_ = 0; }
  bool empty() const { return count_ == 0; }
  /// The row with this cell; null: none.
  const Row* find(std::uint32_t cell) const {
    const Row* at = first_behind(cell);
    return at != end() && at->begin <= cell ? at : nullptr;
  }
  /// Makes rows of exactly the cells from `from` to `to` of it, new ones where there are none.
  /// Returns the first and the end of them, or nulls if there is no room.
  std::pair<Row*, Row*> cover(std::uint32_t from, std::uint32_t to) {
    if (count_ == 0 || rows_[count_ - 1].end <= from) return append(from, to);
    Row* at = const_cast<Row*>(first_behind(from));
    if (at != end() && at->begin == from && at->end == to) [[likely]]
      return {at, at + 1};
    if (at != end() && at->begin < from) {
      if (!cut(at, from)) return {nullptr, nullptr};
      ++at;
    }
    const auto first = at - begin();
    for (std::uint32_t cell = from; cell < to; ++at) {
      if (at == end() || at->begin > cell) {
        const std::uint32_t gap = at == end() ? to : std::min<std::uint32_t>(to, at->begin);
        if (!insert(at, {})) return {nullptr, nullptr};
        at->begin = static_cast<std::uint8_t>(cell);
        at->end = static_cast<std::uint8_t>(gap);
      } else if (at->end > to && !cut(at, to)) {
        return {nullptr, nullptr};
      }
      cell = at->end;
    }
    return {begin() + first, at};
  }
  /// Joins the rows from `first` to `last` and their neighbours where one continues another.
  void join(Row* first, Row* last) {
    if (first != begin()) --first;
    if (last == end()) --last;
    Row* to = first;
    for (Row* at = first + 1; at <= last; ++at) {
      if (to->end == at->begin && at->continues(*to)) {
        to->end = at->end;
      } else if (++to != at) {
        *to = *at;
      }
    }
    if (to == last) return;
    std::copy(last + 1, end(), to + 1);
    count_ -= static_cast<std::uint32_t>(last - to);
  }

 private:
  const Row* first_behind(std::uint32_t cell) const {
    const Row* at = begin();
    while (at != end() && at->end <= cell) ++at;
    return at;
  }
  std::pair<Row*, Row*> append(std::uint32_t from, std::uint32_t to) {
    if (count_ == kMost) return {nullptr, nullptr};
    Row* const at = end();
    *at = {};
    at->begin = static_cast<std::uint8_t>(from);
    at->end = static_cast<std::uint8_t>(to);
    ++count_;
    return {at, at + 1};
  }
  bool insert(Row* at, const Row& row) {
    if (count_ == kMost) return false;
    std::copy_backward(at, end(), end() + 1);
    *at = row;
    ++count_;
    return true;
  }
  bool cut(Row* at, std::uint32_t cell) {
    Row behind = at->from(cell - at->begin);
    behind.begin = static_cast<std::uint8_t>(cell);
    behind.end = at->end;
    if (!insert(at + 1, behind)) return false;
    at->end = static_cast<std::uint8_t>(cell);
    return true;
  }

  std::uint32_t count_ = 0;  // beside the first row in memory
  std::array<Row, kMost> rows_;
};

/// As Cell, without atomics.
struct CellRow {
  std::uint8_t begin = 0, end = 0;  ///< cells of the page
  RowEvent first, second;           ///< readers
  RowEvent write;

  CellRow from(std::uint32_t cell) const {
    return {begin, end, first.from(cell), second.from(cell), write.from(cell)};
  }
  Cell at(std::uint32_t cell) const {
    const std::uint32_t i = cell - begin;
    return {write.at(i), {}, {first.at(i), second.at(i)}};
  }
  bool continues(const CellRow& row) const {
    const std::uint32_t cells = row.end - row.begin;
    return first.time == row.first.time && write.time == row.write.time &&
           second.time == row.second.time && first == row.first.from(cells) &&
           second == row.second.from(cells) && write == row.write.from(cells);
  }
};
using CellRows = RowList<CellRow, 8>;

/// A plain access of a warp to a row of cells while the order is simple (BlockOrder::is_simple):
/// does what WordAccess does to cells, or nothing, and says so.
class RowAccess {
 public:
  /// `second`: each cell is accessed by the lane that is so much higher too; 0: by one lane.
  RowAccess(std::uint32_t epoch, std::uint32_t whole_warp, const RowEvent& now,
            std::uint32_t second)
      : epoch_(epoch), whole_warp_(whole_warp), now_(now), second_(second) {}
  bool read(CellRows& rows, std::uint32_t begin, std::uint32_t end) const;
  bool write(CellRows& rows, std::uint32_t begin, std::uint32_t end) const;

 private:
  enum class Order : std::uint8_t { no, yes, mixed };
  Order ordered(const RowEvent& earlier, const RowEvent& now) const;
  bool precedes(const RowEvent& earlier, const RowEvent& now, bool alone) const;
  bool remember(CellRow& row, const RowEvent& now) const;
  bool read(CellRow& row, const RowEvent& now) const;
  bool write(CellRow& row, const RowEvent& now) const;
  template <class Change>
  bool change(CellRows& rows, std::uint32_t begin, std::uint32_t end, Change change) const;

  std::uint32_t epoch_, whole_warp_;
  RowEvent now_;
  std::uint32_t second_;
};

}  // namespace tilescope::observe

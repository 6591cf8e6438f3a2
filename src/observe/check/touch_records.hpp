// The lowest and the highest block that touched each of neighbouring cells in some way.
//
// As in CellRecords, eight cells lie together: a page of cells that a block has touched is added by
// a few vector instructions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "observe/check/cell_records.hpp"

namespace tilescope::observe {

struct Touch {
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  std::uint32_t lowest = kNobody, highest = 0;  ///< blocks
  AccessTag of_lowest, of_highest;
};

class TouchRecords {
 public:
  static constexpr std::uint32_t kTogether = CellRecords::kTogether;
  struct alignas(64) Group {
    std::uint32_t lowest[kTogether], highest[kTogether], of_lowest[kTogether],
        of_highest[kTogether];
  };

  TouchRecords() = default;
  /// A multiple of 8 cells, which nobody has touched.
  explicit TouchRecords(std::uint32_t cells) : groups_(cells / kTogether) {
    for (std::uint32_t g = 0; g < cells / kTogether; ++g) {
      std::fill_n(groups_[g].lowest, kTogether, Touch::kNobody);
    }
  }
  explicit operator bool() const { return bool(groups_); }

  Touch operator[](std::uint32_t cell) const {
    const Group& group = groups_[cell / kTogether];
    const std::uint32_t at = cell % kTogether;
    return {group.lowest[at], group.highest[at], {group.of_lowest[at]}, {group.of_highest[at]}};
  }
  void set(std::uint32_t cell, const Touch& to) {
    Group& group = groups_[cell / kTogether];
    const std::uint32_t at = cell % kTogether;
    group.lowest[at] = to.lowest;
    group.highest[at] = to.highest;
    group.of_lowest[at] = to.of_lowest.bits;
    group.of_highest[at] = to.of_highest.bits;
  }
  void note(std::uint32_t cell, std::uint32_t block, AccessTag tag) {
    Touch touch = (*this)[cell];
    if (touch.lowest == Touch::kNobody) touch.highest = block, touch.of_highest = tag;
    if (block < touch.lowest) touch.lowest = block, touch.of_lowest = tag;
    if (block > touch.highest) touch.highest = block, touch.of_highest = tag;
    set(cell, touch);
  }
  /// The lowest and the highest block of the first `cells`, whichever cells they touched.
  Touch blocks(std::uint32_t cells) const {
    Touch all;
    for (std::uint32_t g = 0; g < cells / kTogether; ++g) {
      for (std::uint32_t i = 0; i < kTogether; ++i) {
        all.lowest = std::min(all.lowest, groups_[g].lowest[i]);
        all.highest = std::max(all.highest, groups_[g].highest[i]);
      }
    }
    return all;
  }
  Group* groups() { return groups_.get(); }

 private:
  GroupArray<Group> groups_;
};

/// The cells of a page that a block has touched: [begin, end), since its start.
struct TouchedCells {
  CellRecords& records;
  std::uint32_t begin, end;
  std::uint32_t block, block_start;
};

/// The ways in which they were touched.
struct TouchSummary {
  bool writes = false, reads = false;  ///< plain or pending ones
  bool others = false;                 ///< strong ones and atomics
};
TouchSummary summarise(const TouchedCells& cells);

/// Notes the plain writes or the plain readers; there may be no others of that kind. Of the readers
/// the first is enough: the second is of the same block, and there is none without a first.
void note_writes(const TouchedCells& cells, TouchRecords& touches);
void note_readers(const TouchedCells& cells, TouchRecords& touches);

}  // namespace tilescope::observe

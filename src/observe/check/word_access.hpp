// A plain access of a warp to neighbouring cells, words or bytes, while the order is simple
// (BlockOrder::is_simple): what RaceChecker does to their records one by one, eight at a time.
#pragma once

#include <array>
#include <cstdint>

#include "observe/check/cell_records.hpp"

namespace tilescope::observe {

/// Cells of a page, each with the lanes that access it.
struct WordRun {
  static constexpr std::uint32_t kMost = 64;
  std::uint32_t cell, count;  ///< the first one; at most kMost
  /// By cell: the lowest lane, and the next lowest one or kNoLane, as in AccessTag. Seven numbers
  /// on either side may be read.
  const std::uint32_t *first, *second;
  bool collides;  ///< there are second lanes
};
inline constexpr std::uint32_t kNoLane = 0xffffffffu;

/// Words that lie apart, each with the lanes that access it.
struct ScatteredWords {
  static constexpr std::uint32_t kMost = 32;
  std::uint32_t count = 0;
  std::array<CellRecords*, kMost> records;
  std::array<std::uint32_t, kMost> cell, first, second;  ///< as in WordRun
  std::uint32_t changed = 0;  ///< one bit each: may have been written since the last barrier
};

class WordAccess {
 public:
  /// The order at the time of the access; `lane_0`: the tag of lane 0.
  WordAccess(std::uint32_t epoch, std::uint32_t time, std::uint32_t whole_warp,
             std::uint32_t lane_0)
      : epoch_(epoch), time_(time), whole_warp_(whole_warp), lane_0_(lane_0) {}

  /// Both leave out the cells that may race, and return them as a mask: a closer look is wanted
  /// there. `changed`: some cell may have been written since the last barrier of the block.
  std::uint64_t read(CellRecords& records, const WordRun& run, bool changed) const;
  std::uint64_t write(CellRecords& records, const WordRun& run) const;
  std::uint64_t read(const ScatteredWords& words) const;
  std::uint64_t write(const ScatteredWords& words) const;
  /// The second half of `read`: keeps the readers.
  void remember_readers(CellRecords& records, const WordRun& run) const;

 private:
  friend struct WordKernels;
  std::uint32_t epoch_, time_, whole_warp_, lane_0_;
};

}  // namespace tilescope::observe

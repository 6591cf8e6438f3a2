// Plain reads of words of shared memory that no cell remembers yet.
//
// A read matters only to a write by another thread before the next barrier of the whole block, and
// most kernels have no such write. So a read of pages that nothing has changed since the last
// barrier is logged as a whole (ShadowPage::quiet). When anything else comes to one of these pages,
// the reads become records of cells first, in order (RaceChecker::settle); behind the barrier they
// are forgotten.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/check/lane_cells.hpp"

namespace tilescope::observe {

struct LoggedRead {
  const LaneCells* cells;
  std::uint64_t base;        ///< address of the first lane
  std::uint32_t time;        ///< BlockOrder's
  std::uint32_t whole_warp;  ///< when the whole warp last met
  std::uint32_t lane_0;      ///< the tag of lane 0
};

struct ReadLog {
  /// More become records of cells.
  static constexpr std::size_t kMost = 1u << 14;
  std::vector<LoggedRead> reads;
  std::uint32_t epoch = 0;  ///< of the reads
};

}  // namespace tilescope::observe

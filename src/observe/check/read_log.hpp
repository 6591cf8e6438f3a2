// Plain reads of words of shared memory that no cell remembers yet.
//
// A read matters only to a write by another thread before the next barrier of the whole block, and
// most kernels have no such write. So a read of pages that nothing has changed since the last
// barrier is logged as a whole (ShadowPage::quiet), and several loads that compiled code announces
// together as one. When anything else comes to one of these pages,
// the reads become records of cells first, in order (RaceChecker::settle); behind the barrier they
// are forgotten.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/check/known_loads.hpp"
#include "observe/check/lane_cells.hpp"

namespace tilescope::observe {

struct LoggedRead {
  const LaneCells* cells;   ///< of one load, or
  const KnownLoads* group;  ///< of several
  /// The address of the first lane; of a group the place of its stretches' addresses in
  /// ReadLog::starts.
  std::uint64_t base;
  std::uint32_t time;        ///< BlockOrder's
  std::uint32_t whole_warp;  ///< when the whole warp last met
  std::uint32_t lane_0;      ///< the tag of lane 0; of a group without the instruction
};

struct ReadLog {
  /// More become records of cells.
  static constexpr std::size_t kMost = 1u << 14;
  std::vector<LoggedRead> reads;
  std::vector<std::uint64_t> starts;
  std::uint32_t epoch = 0;  ///< of the reads

  bool full() const { return reads.size() >= kMost || starts.size() >= kMost; }
  void clear() {
    reads.clear();
    starts.clear();
  }
};

}  // namespace tilescope::observe

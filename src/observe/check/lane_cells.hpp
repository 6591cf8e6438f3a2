// A warp access as a list of cells, each with the lanes that touch it.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/events.hpp"
#include "observe/lane_runs.hpp"

namespace tilescope::observe {

struct TouchedCell {
  std::int64_t offset;       ///< bytes from the first lane's address, rounded down to the unit
  emulator::LaneMask lanes;  ///< at least one
};

/// The last pattern of an instruction, and its cells.
struct LaneCells {
  std::uint32_t pattern = 0;
  std::uint32_t low_bits = 0;
  std::uint32_t unit = 4;  ///< bytes of a cell: 4, or 1 for accesses of single bytes and halves
  bool collides = false;   ///< some cell is touched by several lanes
  std::vector<TouchedCell> cells;  ///< ascending
  std::vector<Run> runs;           ///< the same bytes as intervals

  /// Makes it describe `access` (cheap if the pattern is that of the last time).
  void update(const emulator::Access& access) {
    const auto low = static_cast<std::uint32_t>(base_address(access) & 3);
    if (access.pattern != 0 && access.pattern == pattern && low == low_bits) return;
    learn(access, low);
  }

 private:
  void learn(const emulator::Access& access, std::uint32_t low);
};

}  // namespace tilescope::observe

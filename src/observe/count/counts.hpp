// The counts of a launch with those of every instruction, from which advice is made.
#pragma once

#include <cstdint>
#include <optional>
#include <tilescope/counts.hpp>
#include <vector>

#include "emulator/events.hpp"

namespace tilescope::observe {

/// A warp whose lanes took different ways at a branch.
struct DivergedWarp {
  std::uint64_t block = 0;  ///< linear
  std::uint32_t warp = 0;
  emulator::LaneMask active = 0;
  emulator::LaneMask taken = 0;
  bool backward = false;         ///< the branch closes a loop
  std::uint64_t idle_lanes = 0;  ///< of all warps, by DivergenceCost
};

struct InstructionCount {
  emulator::InstructionId id = 0;
  SourcePlace place;
  Counts counts;
  std::optional<DivergedWarp> diverged;  ///< the lowest block's lowest warp that did, first time
};

struct CountedLaunch : LaunchCounts {
  std::vector<InstructionCount> instructions;  ///< by id; instructions that never ran are left out
};

}  // namespace tilescope::observe

// The end of a launch: how and where it ended, and how often each instruction ran.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "emulator/refused_launch.hpp"
#include "tilescope/execution.hpp"

namespace tilescope::emulator {

/// How often each instruction ran, by InstructionId.
struct InstructionCounts {
  std::span<const std::uint64_t> executed;  ///< by warps; predicated-off executions included
  std::span<const std::uint64_t> active;    ///< sum over executions of the active lanes
  std::span<const std::uint64_t> on;        ///< of those, the lanes whose guard predicate held
};

/// How a launch ended.
enum class LaunchEnd : std::uint8_t {
  complete,
  trapped,
  budget_spent,
  cancelled,
  seen_enough,  ///< an observer asked for it (Observer::has_seen_enough)
};

/// The place and the reason of a launch's abort.
struct TrapPlace {
  TrapReason reason = TrapReason::trap;
  std::string what;               ///< in words
  std::uint32_t instruction = 0;  ///< InstructionId
  std::uint64_t block = 0;        ///< linear
  std::uint32_t thread = 0;       ///< linear, in the block
};

struct LaunchTotals {
  LaunchEnd end;
  std::uint64_t blocks_run;  ///< blocks that ran to their end
  std::uint64_t warp_instructions;
  std::uint64_t faults;  ///< lane accesses and operations that were faulty
  std::uint64_t deadlocked_blocks;
  InstructionCounts counts;
  TrapPlace trap{};  ///< if end is `trapped`
  std::span<const RefusedLaunch> refused{};
};

}  // namespace tilescope::emulator

#include "inspect/results/run_summary.hpp"

namespace tilescope::inspect {
namespace {

Ending ending_of(emulator::LaunchEnd end) {
  switch (end) {
    case emulator::LaunchEnd::complete:
      return Ending::complete;
    case emulator::LaunchEnd::trapped:
      return Ending::trapped;
    case emulator::LaunchEnd::budget_spent:
      return Ending::unfinished;
    case emulator::LaunchEnd::seen_enough:
      return Ending::found_enough;
    case emulator::LaunchEnd::cancelled:
      break;
  }
  return Ending::interrupted;
}

}  // namespace

RunSummary summary_of(const emulator::LaunchSummary& launch) {
  return {.launches = 1,
          .blocks = launch.blocks_run,
          .warp_instructions = launch.warp_instructions,
          .faults = launch.fault_count,
          .deadlocked_blocks = launch.deadlocked_blocks,
          .ending = ending_of(launch.end),
          .message = launch.message};
}

void add(RunSummary& run, const RunSummary& launch) {
  run.launches += launch.launches;
  run.blocks += launch.blocks;
  run.warp_instructions += launch.warp_instructions;
  run.faults += launch.faults;
  run.deadlocked_blocks += launch.deadlocked_blocks;
  if (run.ending == Ending::complete) run.ending = launch.ending;
  if (run.message.empty()) run.message = launch.message;
}

}  // namespace tilescope::inspect

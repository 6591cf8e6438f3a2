#include "inspect/results/run_trace.hpp"

#include "base/symbol_names.hpp"

namespace tilescope::inspect {

void TraceRecorder::begin_launch(const emulator::LaunchInfo& launch) {
  WarpCourse::begin_launch(launch);
  trace_.launches.push_back({function_name(std::string(launch.kernel)), launch.grid, launch.block});
}

void TraceRecorder::end_launch(const emulator::LaunchTotals& totals) {
  trace_.launches.back().warp_instructions = totals.warp_instructions;
  trace_.launches.back().blocks = take();
}

}  // namespace tilescope::inspect

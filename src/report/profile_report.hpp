// The table of a command-line profiler: one row a method, with its calls, time and memory figures.
// Here the methods are the rungs of a ladder.
#pragma once

#include <vector>

#include "measure/ladder.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

/// Adds `results` with times (a GPU), counts (emulated) or both; rungs that were not verified are
/// left out. Where there are times, shares are of the time of one run of each; else of the warp
/// instructions.
void add_profile(Page& page, const std::vector<measure::RungResult>& results);

}  // namespace tilescope::report

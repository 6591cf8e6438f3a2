// The sum of what launches did.
#pragma once

#include <tilescope/inspection.hpp>

#include "emulator/launch.hpp"

namespace tilescope::inspect {

/// The summary of one launch.
RunSummary summary_of(const emulator::LaunchSummary& launch);

/// The first launch that did not complete determines the run's ending.
void add(RunSummary& run, const RunSummary& launch);

}  // namespace tilescope::inspect

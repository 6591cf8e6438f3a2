// Counts of a launch as values and as the table of totals, in Nsight Compute's words.
#pragma once

#include <tilescope/counts.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// The totals, one quantity a line; quantities that are 0 are left out.
void add_totals(Page& page, const LaunchCounts& counts);

/// The values of one line or of the totals.
Record counts_record(const Counts& counts);

}  // namespace tilescope::report

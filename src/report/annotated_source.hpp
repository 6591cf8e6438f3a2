// A source with the counts of each line beside it, as a profiler's source page has them, in 80
// columns.
#pragma once

#include <string>

#include "observe/counts.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// Every file that has counts, from a little before its first counted line to its last. Columns:
/// share of the warp instructions, sectors of global and local memory and how many a request,
/// wavefronts of shared memory and the worst n-way access. The hottest lines begin with '>'.
std::string annotated_source(const observe::LaunchCounts& counts, SourceTexts& sources);

}  // namespace tilescope::report

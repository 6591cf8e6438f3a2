// A source with the counts of each line beside it, like a profiler's source page.
#pragma once

#include <tilescope/counts.hpp>

#include "report/page/page.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// Every file that has counts, from a little before its first counted line to its last. Columns:
/// share of the warp instructions; sectors of global and local memory and how many a request;
/// wavefronts of shared memory and the worst n-way access; share of the branches that diverge.
/// Columns that nothing in the launch fills are left out.
void add_annotated_source(Page& page, const LaunchCounts& counts, SourceTexts& sources);

}  // namespace tilescope::report

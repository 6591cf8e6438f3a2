// The course of one block for the page in a browser: where its warps wait, and where they diverge.
#pragma once

#include "inspect/results/explain_details.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

/// Adds a time line of each launch in which a warp waited or diverged, the first few.
void add_block_figures(Page& page, const inspect::ExplainDetails& details);

}  // namespace tilescope::report

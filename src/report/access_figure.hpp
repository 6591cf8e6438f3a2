// One warp's accesses for the page in a browser: the lanes, and the banks or sectors they reach.
#pragma once

#include <string>
#include <tilescope/explain.hpp>
#include <vector>

#include "inspect/results/explain_details.hpp"
#include "report/page/page.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// Adds the most wasteful accesses, or, if none wastes anything, the costliest; with a `line` those
/// in that line. Each has its rounds, what `advice` says about it, and its form after the cure, if
/// one is known.
void add_access_figures(Page& page, const inspect::ExplainDetails& details,
                        const std::vector<Advice>& advice, std::uint32_t line,
                        SourceTexts& sources);

}  // namespace tilescope::report

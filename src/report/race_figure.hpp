// Findings for the page in a browser: a picture of each race, and every finding at its line.
#pragma once

#include <tilescope/finding.hpp>
#include <vector>

#include "report/page/page.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// Adds the first few races as scenes, then the sources.
void add_finding_figures(Page& page, const std::vector<Finding>& findings, SourceTexts& sources);

}  // namespace tilescope::report

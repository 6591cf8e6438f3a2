// Counts of a launch as values and as the table of totals, in Nsight Compute's words.
#pragma once

#include <tilescope/counts.hpp>

#include "report/json/json_renderer.hpp"
#include "report/page/page.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::report {

/// The totals, one quantity a line; quantities that are 0 are left out.
void add_totals(Page& page, const LaunchCounts& counts);

inline std::string totals_text(const LaunchCounts& counts) {
  Page page("explain");
  add_totals(page, counts);
  return render_text(page);
}

/// The values of one line or of the totals.
Record counts_record(const Counts& counts);
nlohmann::json counts_json(const Counts& counts);

}  // namespace tilescope::report

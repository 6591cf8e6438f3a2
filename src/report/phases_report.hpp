// The table of execution phases: for each phase and thread, what it loads into which shared cell,
// and what it computes from them.
#pragma once

#include <cstddef>
#include <string_view>

#include "observe/trace/phase_trace.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

/// Adds the table under `title`, and all phases to the data. Phases beyond the first `most_phases`
/// are only counted in the text. Throws Error(usage) when `trace` saw no phases, or a block too
/// large for a table.
void add_phases(Page& page, std::string_view title, const observe::PhaseTrace& trace,
                std::size_t most_phases = 8);

}  // namespace tilescope::report

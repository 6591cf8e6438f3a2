// The table of execution phases: for each phase and thread, what it loads into which shared cell,
// and what it computes from them.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "observe/trace/phase_trace.hpp"

namespace tilescope::report {

/// Phases beyond the first `most_phases` are only counted. Throws Error(usage) if `trace` saw no
/// phases, or a block too large for a table.
std::string phases_report(const observe::PhaseTrace& trace, std::size_t most_phases = 8);

/// All phases; the same errors.
nlohmann::json phases_json(const observe::PhaseTrace& trace);

}  // namespace tilescope::report

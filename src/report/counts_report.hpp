// Counts of a launch as JSON and as the table of totals, in Nsight Compute's words.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "observe/count/counts.hpp"

namespace tilescope::report {

/// A count in at most five columns: "12345", "123k", "1.23M".
std::string short_count(std::uint64_t count);

/// The totals, one quantity a line; what did not happen is left out.
std::string totals_text(const LaunchCounts& counts);

/// The keys of one line or of the totals.
nlohmann::json counts_json(const Counts& counts);

}  // namespace tilescope::report

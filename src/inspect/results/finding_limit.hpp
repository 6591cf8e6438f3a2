// The limit of a check's findings (InspectOptions::max_findings).
#pragma once

#include <cstdint>
#include <tilescope/finding.hpp>
#include <vector>

namespace tilescope::inspect {

/// Whether there are `most` different findings that are no notes; never for 0.
bool reaches_limit(std::vector<Finding> findings, std::uint64_t most);

/// Keeps the first `most` findings, by launch and block, and every note. `findings` are folded and
/// stay in their order. Returns how many it has removed.
std::uint64_t keep_first(std::vector<Finding>& findings, std::uint64_t most);

}  // namespace tilescope::inspect

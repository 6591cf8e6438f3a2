// From recorded races to findings.
#pragma once

#include <vector>

#include "observe/check/race_log.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

/// `fences`: the program orders its blocks by fences (orders_blocks).
void describe_races(const RaceLog& log, const Describer& describer, bool fences,
                    std::vector<Finding>& findings);

}  // namespace tilescope::observe

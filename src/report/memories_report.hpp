// The kinds of memory and their costs.
#pragma once

#include <string>
#include <tilescope/gpu/memories.hpp>
#include <vector>

#include "report/page/page.hpp"

namespace tilescope::report {

Page memories_page(const std::string& machine, const std::vector<gpu::LevelCost>& costs);

}  // namespace tilescope::report

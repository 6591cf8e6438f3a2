// Stores that the compiler moved behind the branches of an if and an else: it gives them line 0.
#pragma once

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// Gives each store of `function` that has no line the place where its value was computed last.
void place_moved_stores(const std::vector<Location>& locations, Function& function);

}  // namespace tilescope::ptx

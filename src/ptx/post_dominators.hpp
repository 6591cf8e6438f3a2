// Post-dominators of a control flow graph.
#pragma once

#include "ptx/basic_blocks.hpp"

namespace tilescope::ptx {

/// Sets `immediate_post_dominator` of every block from `successors` and
/// `exits`. Takes time proportional to m log n for m edges, whatever the graph.
void find_post_dominators(ControlFlow& flow);

}  // namespace tilescope::ptx

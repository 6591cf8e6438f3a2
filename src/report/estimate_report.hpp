// Counts that were estimated from a sample of blocks (explain --blocks).
#pragma once

#include <tilescope/explain.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// blocks_counted, blocks, how they were chosen, and the spread of each count; null if all blocks
/// were counted after all.
Value estimate_value(const LaunchCounts& counts, const BlockSample& sample);

/// The half-widths that are not 0, by the names of counts; null where there are none to give.
Value spread_value(const Spreads& spread);

/// "estimates from 66 of 4,096 blocks, drawn with seed 1; ..."
std::string estimate_sentence(const ExplainResult& result);

/// That a range of blocks reaches beyond the launch's; empty where it does not, and without a
/// range.
std::string range_sentence(const ExplainResult& result);

/// A table of the estimated counts with their intervals; nothing for exact counts.
void add_estimates(Page& page, const LaunchCounts& counts);

}  // namespace tilescope::report

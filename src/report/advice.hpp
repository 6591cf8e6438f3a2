// What the counts of a launch mean, in plain words: which accesses waste bandwidth and why, which
// conflict and what would cure them, where warps diverge.
#pragma once

#include <string>
#include <tilescope/launch.hpp>
#include <vector>

#include "observe/count/counts.hpp"
#include "observe/trace/lane_samples.hpp"
#include "report/advice_kind.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// The worst first, each kind by its own share. What makes up less than 2% of its kind of traffic
/// is left out.
std::vector<Advice> advise(const observe::LaunchCounts& counts,
                           const std::vector<observe::LaneSample>& samples, const Dim3& block,
                           SourceTexts& sources);

/// "none: ..." with the figures behind it, for a launch without advice.
std::string no_advice(const observe::LaunchCounts& counts);

}  // namespace tilescope::report

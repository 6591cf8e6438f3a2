// What the counts of a launch mean, in plain words: which accesses waste bandwidth and why, which
// conflict and what would cure them, where warps diverge.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tilescope/launch.hpp>
#include <vector>

#include "observe/count/counts.hpp"
#include "observe/trace/lane_samples.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

enum class AdviceKind : std::uint8_t {
  uncoalesced,       ///< neighbouring threads lie apart
  split_rows,        ///< a warp spans several short rows of the block
  misaligned,        ///< neighbours, but off the start of a sector
  narrow,            ///< a byte or two a thread
  contended_atomic,  ///< many lanes change one word
  bank_conflict,
  local_memory,
  divergence,
  partial_warps,
};
std::string_view to_string(AdviceKind kind);

struct Advice {
  AdviceKind kind = AdviceKind::uncoalesced;
  observe::SourcePlace place;  ///< line 0: about the launch as a whole
  std::string message;         ///< sentences, without the place
  double weight = 0.0;         ///< how much of the launch's cost of this kind it is about, 0 to 1
};

/// The worst first, each kind by its own share. What makes up less than 2% of its kind of traffic
/// is left out.
std::vector<Advice> advise(const observe::LaunchCounts& counts,
                           const std::vector<observe::LaneSample>& samples, const Dim3& block,
                           SourceTexts& sources);

/// "none: ..." with the figures behind it, for a launch without advice.
std::string no_advice(const observe::LaunchCounts& counts);

}  // namespace tilescope::report

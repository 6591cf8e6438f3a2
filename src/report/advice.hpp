// What the counts of a launch mean, in plain words: which accesses waste bandwidth and why, which
// conflict and what would cure them, where warps diverge.
#pragma once

#include <cstdint>
#include <string>
#include <tilescope/launch.hpp>
#include <vector>

#include "observe/counts.hpp"
#include "observe/lane_samples.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

enum class AdviceKind : std::uint8_t { uncoalesced, misaligned_rows, bank_conflict, divergence };
std::string_view to_string(AdviceKind kind);

struct Advice {
  AdviceKind kind = AdviceKind::uncoalesced;
  observe::SourcePlace place;
  std::string message;  ///< sentences, without the place
  double weight = 0.0;  ///< how much of the launch's cost of this kind it is about, 0 to 1
};

/// The worst first, each kind by its own share. What makes up less than 2% of its kind of traffic,
/// or conflicts by chance a little, is left out.
std::vector<Advice> advise(const observe::LaunchCounts& counts,
                           const std::vector<observe::LaneSample>& samples, const Dim3& block,
                           SourceTexts& sources);

/// "sampled as A[row * k + i]": the array access that a line writes as NAME[...]; empty when the
/// line has none.
std::string quoted_access(const std::string& line, const std::string& object);

}  // namespace tilescope::report

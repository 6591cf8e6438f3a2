// The details that explain() keeps beside its counts, for advice and drawings.
#pragma once

#include <vector>

#include "observe/count/counts.hpp"
#include "observe/trace/lane_samples.hpp"
#include "observe/trace/phase_trace.hpp"

namespace tilescope::inspect {

struct ExplainDetails {
  struct OfLaunch {
    std::vector<observe::InstructionCount> instructions;
    std::vector<observe::LaneSample> samples;  ///< by instruction
  };
  std::vector<OfLaunch> launches;  ///< as ExplainResult::launches
  observe::PhaseTrace phases;      ///< of the first launch; empty unless requested

  /// The samples of all launches, in order.
  std::vector<observe::LaneSample> samples() const {
    std::vector<observe::LaneSample> all;
    for (const OfLaunch& of : launches) all.insert(all.end(), of.samples.begin(), of.samples.end());
    return all;
  }
};

}  // namespace tilescope::inspect

// The details that explain() keeps beside its counts, for advice and drawings.
#pragma once

#include <tilescope/pipeline.hpp>
#include <vector>

#include "observe/count/counts.hpp"
#include "observe/trace/code_lines.hpp"
#include "observe/trace/lane_samples.hpp"
#include "observe/trace/phase_trace.hpp"
#include "observe/trace/warp_course.hpp"

namespace tilescope::inspect {

struct ExplainDetails {
  struct OfLaunch {
    observe::CountedLaunch counted;
    std::vector<observe::LaneSample> samples;  ///< by instruction
    std::vector<Pipeline> pipelines = {};      ///< of the first launch that has some
    // Only if pictures were requested:
    std::vector<observe::LaneSample> rounds = {};     ///< the first accesses of a warp
    std::vector<observe::CourseOfBlock> blocks = {};  ///< the first ones
    std::vector<observe::CodeLine> code = {};         ///< the kernel's instructions
  };
  /// One for each launch; for a program one for all launches of a kernel with the same block.
  std::vector<OfLaunch> launches;
  observe::PhaseTrace phases;  ///< of the first launch; empty unless requested

  /// The samples of all launches, in order.
  std::vector<observe::LaneSample> samples() const;
  /// The pipelines of each kernel's first launch that has some.
  std::vector<Pipeline> pipelines() const;
};

/// Adds another launch of the same code: counts are summed, of samples the most wasteful stays.
void add_launch(ExplainDetails::OfLaunch& sum, const observe::CountedLaunch& counted,
                const std::vector<observe::LaneSample>& samples,
                const std::vector<Pipeline>& pipelines);

}  // namespace tilescope::inspect

// The observers of explain(), for one kernel and for a whole program.
#pragma once

#include <vector>

#include "inspect/results/explain_details.hpp"
#include "observe/count/count_observer.hpp"
#include "observe/trace/lane_rounds.hpp"
#include "observe/trace/pipeline_trace.hpp"

namespace tilescope::inspect {

class DetailObservers {
 public:
  /// `ptx_of` is for CodeLines.
  explicit DetailObservers(observe::CodeLines::PtxOf ptx_of) : code_(std::move(ptx_of)) {}

  /// Those that count, and with `pictures` those whose results only pictures show.
  std::vector<emulator::Observer*> wanted(bool pictures);

  // The results of the last launch.
  const observe::CountedLaunch& counted() const { return counter_.result(); }
  const std::vector<observe::LaneSample>& samples() const { return sampler_.result(); }
  const std::vector<Pipeline>& pipelines() const { return pipelines_.result(); }
  ExplainDetails::OfLaunch all() const;

 private:
  observe::CountObserver counter_;
  observe::LaneSamples sampler_;
  observe::PipelineTrace pipelines_;
  observe::LaneRounds rounds_;
  observe::CodeLines code_;
  observe::WarpCourse course_;
};

}  // namespace tilescope::inspect

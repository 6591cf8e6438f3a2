// The observers of explain(), for one kernel and for a whole program.
#pragma once

#include <optional>
#include <vector>

#include "inspect/results/explain_details.hpp"
#include "observe/count/block_plan.hpp"
#include "observe/count/count_observer.hpp"
#include "observe/trace/lane_rounds.hpp"
#include "observe/trace/pipeline_trace.hpp"

namespace tilescope::inspect {

/// LaneSamples of the blocks that are counted.
class LaneSamplesOfBlocks final : public observe::LaneSamples {
 public:
  explicit LaneSamplesOfBlocks(const std::optional<BlockSample>& blocks) : sample_(blocks) {}
  bool wants_block(std::uint64_t linear) const override { return plan_.contains(linear); }
  bool sums_by_block() const override { return !plan_.counts_all(); }
  void begin_launch(const emulator::LaunchInfo& launch) override {
    plan_ = observe::BlockPlan(sample_, launch.grid);
    observe::LaneSamples::begin_launch(launch);
  }

 private:
  std::optional<BlockSample> sample_;
  observe::BlockPlan plan_;
};

class DetailObservers {
 public:
  /// `ptx_of` is for CodeLines. `blocks`: those that are counted and sampled; nothing: all.
  DetailObservers(observe::CodeLines::PtxOf ptx_of, const std::optional<BlockSample>& blocks)
      : counter_(blocks), sampler_(blocks), code_(std::move(ptx_of)) {}

  /// Those that count, and with `pictures` those whose results only pictures show.
  std::vector<emulator::Observer*> wanted(bool pictures);

  // The results of the last launch.
  const observe::CountedLaunch& counted() const { return counter_.result(); }
  const std::vector<observe::LaneSample>& samples() const { return sampler_.result(); }
  const std::vector<Pipeline>& pipelines() const { return pipelines_.result(); }
  ExplainDetails::OfLaunch all() const;

 private:
  observe::CountObserver counter_;
  LaneSamplesOfBlocks sampler_;
  observe::PipelineTrace pipelines_;
  observe::LaneRounds rounds_;
  observe::CodeLines code_;
  observe::WarpCourse course_;
};

}  // namespace tilescope::inspect

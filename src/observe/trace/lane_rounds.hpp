// The first accesses of one warp by every memory instruction, in order: the rounds of its loop.
#pragma once

#include <vector>

#include "observe/trace/lane_samples.hpp"

namespace tilescope::observe {

/// Watches the lowest warp of block 0 that gets to each instruction, in the last launch.
class LaneRounds : public emulator::Observer {
 public:
  static constexpr std::size_t kMostRounds = 16;  ///< of an instruction

  bool wants_block(std::uint64_t linear) const override { return linear == 0; }
  std::uint32_t events() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;

  /// In the order in which they happened.
  const std::vector<LaneSample>& result() const { return rounds_; }

 private:
  const emulator::Program* program_ = nullptr;
  std::vector<LaneSample> rounds_;
};

}  // namespace tilescope::observe

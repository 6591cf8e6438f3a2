// The course of the first blocks: for each warp when it works, when it waits at a barrier, and when
// part of its lanes are idle.
//
// The emulator has no clock. A warp's time is the number of its memory accesses and branches, and a
// barrier brings the warps that meet there to the same time, that of the last.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/events.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

enum class WarpState : std::uint8_t {
  working,
  partly_idle,  ///< lanes of the warp went different ways
  waiting,      ///< at a barrier, for other warps
  stuck,        ///< at a barrier that is never complete
};

struct WarpSpan {
  std::uint64_t begin = 0, end = 0;
  WarpState state = WarpState::working;
  SourcePlace place = {};  ///< of the barrier
};

struct CourseOfBlock {
  std::uint64_t linear = 0;
  Dim3 index{0, 0, 0};
  bool complete = false;
  std::vector<std::vector<WarpSpan>> warps;
};

/// Watches the first blocks of the last launch, as far as their first barriers.
class WarpCourse : public emulator::Observer {
 public:
  static constexpr std::size_t kMostSpans = 400;  ///< of all warps of a block
  static constexpr std::uint64_t kMostBlocks = 64;

  bool wants_block(std::uint64_t linear) const override { return linear < kMostBlocks; }
  std::uint32_t events() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;

  /// In the order of the blocks.
  const std::vector<CourseOfBlock>& result() const { return blocks_; }
  std::vector<CourseOfBlock> take() { return std::move(blocks_); }

 private:
  const emulator::Program* program_ = nullptr;
  std::uint32_t warp_count_ = 0;
  std::vector<CourseOfBlock> blocks_;
};

}  // namespace tilescope::observe

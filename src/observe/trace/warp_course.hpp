// The course of one block: for each warp when it works, when it waits at a barrier, and when part
// of its lanes are idle.
//
// The emulator has no clock. A warp's time is the number of its memory accesses and branches, and a
// barrier brings the warps that meet there to the same time, that of the last.
#pragma once

#include <cstdint>
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

/// Watches block 0 of the last launch, as far as its first barriers.
class WarpCourse : public emulator::Observer {
 public:
  static constexpr std::size_t kMostSpans = 400;  ///< of all warps

  std::uint32_t events() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;

  /// By warp; empty where nothing was to be seen.
  const std::vector<std::vector<WarpSpan>>& result() const { return warps_; }

 private:
  const emulator::Program* program_ = nullptr;
  std::uint32_t warp_count_ = 0;
  std::vector<std::vector<WarpSpan>> warps_;
};

}  // namespace tilescope::observe

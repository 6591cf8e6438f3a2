// A grid that may start while the one before it still runs: until griddepcontrol.wait, what that
// one writes is not there.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/mistake_fold.hpp"
#include "observe/check/thread_place.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

/// Stretches of global memory, [begin, end), ascending and apart.
using Stretches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

class GridWaits {
 public:
  GridWaits(const emulator::LaunchInfo& launch, const Stretches& before)
      : launch_(launch), before_(before) {}

  void begin_block(std::uint64_t block);
  /// Whether there is anything to wait for.
  bool watches() const { return launch_.overlaps_previous && !before_.empty(); }
  void access(const emulator::Access& access);
  void issue(const emulator::BulkEvent& bulk);
  void wait(const emulator::GridDependency& dependency);
  /// Whether any thread has executed griddepcontrol.launch_dependents. Without it the next grid
  /// begins when this one has ended.
  bool lets_next_begin() const { return lets_next_begin_; }
  /// A warp waits for others of its block; if any of them has waited for the grid, so has it.
  void learn(std::uint32_t warp);
  /// All of them do.
  void meet();
  void merge(const GridWaits& other);
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

 private:
  struct Mistake {
    ThreadPlace first;
    std::uint64_t address = 0;
    ThreadAction action = ThreadAction::none;
  };
  bool is_from_before(std::uint64_t address, std::uint64_t bytes) const;

  const emulator::LaunchInfo& launch_;
  const Stretches& before_;
  std::uint64_t block_ = 0;
  std::vector<bool> waited_;  ///< by warp
  bool any_waited_ = false;
  bool lets_next_begin_ = false;
  MistakeFold<emulator::InstructionId, Mistake> mistakes_;
};

}  // namespace tilescope::observe

// Races between a grid and the grids that its threads launch: they run at the same time. A child
// sees what its launching thread had done or learned before the launch. Nothing orders what the
// parent does later, or in other blocks; it cannot wait for its children either. Only launches into
// the tail stream begin when the parent and all other children have ended.
//
// In a program that orders its blocks itself, others may have told the launching one: there only
// its own accesses are judged. Children of one grid are not compared with each other.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/block_order.hpp"
#include "observe/check/grid_summary.hpp"
#include "observe/check/shadow_page.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

/// The launches that the threads of one grid make, and what its blocks do behind them.
class ChildGrids {
 public:
  bool empty() const { return launches_.empty(); }
  /// `passed`: what the launching warp knew (BlockOrder::passed).
  void launch(std::uint64_t block, const emulator::GridLaunch& launch, const WarpTimes& passed);
  /// Keeps the accesses of a block that came behind one of its launches. False: there are too many.
  bool end_block(std::uint64_t block, const GlobalShadow& shadow, std::uint32_t block_start);
  /// Calls visit(number) for each launch.
  template <class Visit>
  void for_launches(Visit visit) const {
    for (const auto& [number, launch] : launches_) visit(number);
  }

  /// One of the two grids: what it did, and how it is described.
  struct Grid {
    const GridSummary& summary;
    const Describer& describer;
    const std::vector<AccessRole>& roles;
  };
  /// Adds the races of the parent with the child of this number. `all_blocks`: nothing orders the
  /// parent's blocks.
  void find_races(std::uint64_t number, const Grid& parent, bool all_blocks, const Grid& child,
                  std::vector<Finding>& findings) const;

 private:
  static constexpr std::size_t kMostLate = 1u << 20;
  struct Launch {
    std::uint64_t block = 0;
    WarpTimes passed{};
  };
  struct LateAccess {
    std::uint64_t address;
    std::uint32_t bytes;  ///< of the cell
    AccessVerb verb;
    Event event;
  };

  std::map<std::uint64_t, Launch> launches_;                         ///< by number
  std::unordered_map<std::uint64_t, std::vector<LateAccess>> late_;  ///< by block
  std::size_t late_count_ = 0;
};

}  // namespace tilescope::observe

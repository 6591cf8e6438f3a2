// Finds blocks that wait for ever: their warps only spin, and nobody is left to change what they
// look at.
//
// A warp that spins runs the same loop again. It will do so for ever if the loop changes no memory
// and every register on which its branches and addresses depend has the same value as a round
// before. (A counter of attempts may go on counting, as long as no branch reads it.) If that holds
// for all blocks of a host thread, only another host thread's blocks can release them; if it holds
// for all host threads, nobody can. But the program itself may, by a thread of its own, if a loop
// looks at memory that it reaches too: it is given some time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "emulator/launch_state.hpp"
#include "emulator/resident_cluster.hpp"

namespace tilescope::emulator {

/// The clusters that a host thread has set aside.
using WaitingClusters = std::deque<std::unique_ptr<ResidentCluster>>;

/// One host thread's watch over them.
class StallWatch {
 public:
  explicit StallWatch(Worker& worker) : worker_(worker) {}

  /// Each of `clusters` has only waited since the call before. Tells the launch if they are
  /// stalled.
  void round(const WaitingClusters& clusters);
  /// A cluster did something else.
  void reset() { rounds_ = 0; }

 private:
  /// The code that the host thread's blocks ran in a round.
  struct Window {
    std::vector<bool> ran;              ///< by CodeBlock::counter
    std::vector<std::uint32_t> places;  ///< offsets and bytes of the registers that decide, in
                                        ///< pairs, function by function
    std::vector<std::size_t> begins;    ///< of each function's pairs
  };
  bool look_at(std::uint32_t function, Window& window) const;
  bool examine(Window& window) const;
  std::uint64_t digest(const WaitingClusters& clusters, const Window& window) const;
  bool program_may_help(const WaitingClusters& clusters, std::uint64_t since);

  Worker& worker_;
  std::uint64_t rounds_ = 0;
  std::vector<BlockCounter> counters_;  ///< at the end of the round before
  // After a round in which the warps may have been stalled:
  bool suspected_ = false;
  std::uint64_t since_ = 0;  ///< LaunchState::progress()
  std::uint64_t changes_ = 0;
  std::uint64_t digest_ = 0;
  std::uint64_t told_ = ~std::uint64_t{0};  ///< the value of progress() for which it was told
  std::uint64_t patient_since_ = ~std::uint64_t{0};  ///< the one at which patient_until_ was set
  std::chrono::steady_clock::time_point patient_until_;
};

/// Lanes that spin, with the memory that their loop looks at.
StuckLanes spinning_lanes(std::uint32_t warp, const Path& path);

}  // namespace tilescope::emulator

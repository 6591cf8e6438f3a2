// Runs the blocks of a cluster, in turns, on one host thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/block.hpp"

namespace tilescope::emulator {

class ResidentCluster {
 public:
  ResidentCluster(LaunchState& launch, Worker& worker);

  void start(std::uint64_t number);
  /// Runs until all blocks are done, or they seem to wait for other clusters, or the launch ends.
  BlockProgress run();
  /// The launch has ended while the cluster was set aside.
  void abandon();
  /// The blocks wait for ever: reports where, and ends them.
  void give_up();
  /// See Block.
  void merge_observers();

  struct Member {
    std::unique_ptr<Block> block;
    bool running = false;
    bool complete = false;  ///< ran to its end
  };
  const std::vector<Member>& members() const { return members_; }

 private:
  struct Turn {
    bool spins = false;    ///< a block waits for memory
    bool yielded = false;  ///< a block has run very long
    bool aborted = false;
  };
  Turn run_each();
  bool running() const;
  bool unblock();
  void end(Member& member);

  Worker& worker_;
  Cluster cluster_;
  std::vector<Member> members_;
};

}  // namespace tilescope::emulator

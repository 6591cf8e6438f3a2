// A cluster: blocks that run together on one host thread, reach each other's shared memory and meet
// at the cluster's barrier. Every block is in one; without clusters it is alone there.
//
// An address in shared memory names the block too (see address_space.hpp). The blocks are run by
// ResidentCluster (resident_cluster.hpp), which knows what a block is; this is the part that a
// block's instructions look at.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/launch_setup.hpp"

namespace tilescope::emulator {

class Block;

class Cluster {
 public:
  /// The blocks join in the order of their ranks, once; start() begins a new run of them.
  void join(Block& block) {
    blocks_.push_back(&block);
    running_.push_back(0);
  }
  void start(std::uint32_t threads_per_block) {
    for (std::uint32_t& threads : running_) threads = threads_per_block;
    generation_ = arrived_ = 0;
    live_ = std::uint64_t{threads_per_block} * blocks_.size();
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(blocks_.size()); }
  /// Null if the cluster has no such rank.
  Block* block(std::uint32_t rank) const { return rank < size() ? blocks_[rank] : nullptr; }
  /// All threads of the block have left: its shared memory is gone.
  bool exited(std::uint32_t rank) const { return running_[rank] == 0; }

  // --- barrier.cluster ---
  /// Threads have arrived in the present generation.
  bool is_open() const { return arrived_ != 0; }
  /// How often the barrier was completed.
  std::uint64_t generation() const { return generation_; }
  /// `threads` arrive. Those that wait see it when the generation has grown.
  void arrive(std::uint32_t threads);
  /// Threads of a block leave; `arrived` of them had arrived in the present generation.
  void leave(std::uint32_t rank, std::uint32_t threads, std::uint32_t arrived) {
    running_[rank] -= threads;
    live_ -= threads;
    arrived_ -= arrived;
    complete_if_all_arrived();
  }
  /// The block waits for ever: the others continue without its threads, `arrived` of which had
  /// arrived. Its shared memory stays.
  void drop(std::uint32_t rank, std::uint32_t arrived);

 private:
  void complete_if_all_arrived() {
    if (arrived_ == 0 || arrived_ != live_) return;
    arrived_ = 0;
    ++generation_;
  }

  std::vector<Block*> blocks_;
  std::vector<std::uint32_t> running_;  ///< by rank: threads that have not left
  std::uint64_t generation_ = 0;
  std::uint64_t live_ = 0, arrived_ = 0;  ///< threads
};

}  // namespace tilescope::emulator

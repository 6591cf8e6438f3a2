#include "emulator/cluster.hpp"

namespace tilescope::emulator {

void Cluster::start(std::uint32_t threads_per_block) {
  running_.resize(blocks_.size());
  for (std::uint32_t& threads : running_) threads = threads_per_block;
  generation_ = arrived_ = 0;
  live_ = std::uint64_t{threads_per_block} * blocks_.size();
}

void Cluster::arrive(std::uint32_t threads) {
  arrived_ += threads;
  complete_if_all_arrived();
}

void Cluster::drop(std::uint32_t rank, std::uint32_t arrived) {
  live_ -= running_[rank];
  arrived_ -= arrived;
  complete_if_all_arrived();
}

}  // namespace tilescope::emulator

#include "emulator/cluster.hpp"

namespace tilescope::emulator {

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

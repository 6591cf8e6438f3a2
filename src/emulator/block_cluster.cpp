// A block's lanes at the barrier of its cluster. A thread arrives, does other work, and waits until
// every live thread of the cluster has arrived.
//
// Blocks of a cluster take turns on one host thread. The cluster counts arrivals; a block that gets
// its turn sees by the count of generations whether its lanes may continue.
#include <algorithm>
#include <bit>

#include "emulator/block.hpp"

namespace tilescope::emulator {
namespace {

std::uint32_t count(LaneMask lanes) {
  return static_cast<std::uint32_t>(std::popcount(lanes));
}

Fault unpaired(const Code& code, std::uint32_t warp, LaneMask lanes) {
  return {.kind = FaultKind::unpaired_arrival,
          .instruction = code.id,
          .warp = warp,
          .lanes = lanes,
          .space = Space::shared,
          .access = AccessKind::load,
          .bytes = 0,
          .address = 0,
          .object = {},
          .object_bytes = 0,
          .distance = 0,
          .addresses = nullptr};
}

}  // namespace

bool Block::waits_for_cluster() const {
  return std::any_of(warps_.begin(), warps_.end(), [](const Warp& warp) {
    return std::any_of(warp.paths().begin(), warp.paths().end(),
                       [](const Path& path) { return path.state == PathState::cluster; });
  });
}

void Block::announce_cluster(const Code& code, std::uint32_t warp, LaneMask mask, bool waited) {
  if (mask == 0 || (worker_.context.events & kOrder) == 0) return;
  const ClusterBarrier event{code.id, warp, mask, waited, generation_ - (waited ? 1 : 0)};
  for (const auto& slot : observers_) {
    if ((slot.events & kOrder) != 0) slot.observer->cluster_barrier(event);
  }
}

/// Lanes whose generation has been completed may continue.
void Block::pass_generation() {
  generation_ = cluster_.generation();
  ++completions_;
  for (Warp& warp : warps_) {
    ClusterLanes& lanes = cluster_lanes_[warp.index()];
    lanes.passed |= lanes.arrived;
    lanes.arrived = 0;
    for (Path& path : warp.paths()) {
      if (path.state != PathState::cluster) continue;
      path.state = PathState::ready;
      lanes.passed &= ~path.mask;
      announce_cluster(*path.waiting_at, warp.index(), path.mask, true);
    }
  }
}

void Block::arrive_at_cluster(const Code& code, std::uint32_t warp, LaneMask mask) {
  look_at_cluster();
  ClusterLanes& lanes = cluster_lanes_[warp];
  const LaneMask again = mask & (lanes.arrived | lanes.passed);
  if (again != 0) report(unpaired(code, warp, again));
  const LaneMask fresh = mask & ~again;  // the arrival before stands for both
  lanes.arrived |= fresh;
  announce_cluster(code, warp, fresh, false);
  cluster_.arrive(count(fresh));
  look_at_cluster();
}

LaneMask Block::wait_for_cluster(const Code& code, std::uint32_t warp, LaneMask mask) {
  look_at_cluster();
  ClusterLanes& lanes = cluster_lanes_[warp];
  if (const LaneMask never = mask & ~(lanes.arrived | lanes.passed); never != 0) {
    report(unpaired(code, warp, never));
  }
  announce_cluster(code, warp, mask & lanes.passed, true);
  lanes.passed &= ~mask;
  return mask & lanes.arrived;
}

}  // namespace tilescope::emulator

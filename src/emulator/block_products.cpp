// The warps of a block at wgmma.wait_group. Groups of products belong to the warpgroup: the wait of
// one warp is over when all four have issued their parts.
#include <algorithm>

#include "emulator/block.hpp"

namespace tilescope::emulator {
namespace {

std::uint32_t pending_of(const Code& wait) {
  return static_cast<std::uint32_t>(wait.offset);
}

}  // namespace

bool Block::products_issued(std::uint32_t warp, const Code& wait) const {
  const std::uint64_t awaited = warpgroups_.awaited(warp, pending_of(wait));
  const std::uint32_t first = warp - warp % kWarpsPerGroup;
  for (std::uint32_t i = first; i < std::min<std::size_t>(first + kWarpsPerGroup, warps_.size());
       ++i) {
    if (warps_[i].live() != 0 && warpgroups_.issued(i) < awaited) return false;
  }
  return true;
}

void Block::announce_product_wait(std::uint32_t warp, const Code& wait, LaneMask mask) {
  const MatrixOrder event{wait.id, warp, mask, MatrixOrdering::wait, pending_of(wait)};
  for (const auto& slot : observers_) {
    if ((slot.events & kMatrix) != 0) slot.observer->matrix_order(event);
  }
}

bool Block::end_product_waits(bool force) {
  if (!warpgroups_.in_use()) return false;  // then nobody waits
  bool any = false;
  for (Warp& warp : warps_) {
    for (Path& path : warp.paths()) {
      if (path.state != PathState::products) continue;
      const Code& wait = *path.waiting_at;
      const std::uint64_t awaited = warpgroups_.awaited(warp.index(), pending_of(wait));
      if (!products_issued(warp.index(), wait)) {
        if (!force) continue;
        const std::uint32_t first = warp.index() - warp.index() % kWarpsPerGroup;
        for (std::uint32_t i = first;
             i < std::min<std::size_t>(first + kWarpsPerGroup, warps_.size()); ++i) {
          if (warps_[i].live() == 0 || warpgroups_.issued(i) >= awaited) continue;
          report_warpgroup(i, warpgroups_.behind(i), warps_[i].live());
        }
      }
      path.state = PathState::ready;
      ++completions_;
      announce_product_wait(warp.index(), wait, path.mask);
      any = true;
    }
  }
  return any;
}

}  // namespace tilescope::emulator

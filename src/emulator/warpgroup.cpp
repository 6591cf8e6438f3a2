#include "emulator/warpgroup.hpp"

#include <algorithm>

namespace tilescope::emulator {

void Warpgroups::start(std::uint32_t warps) {
  warps_ = warps;
  groups_.clear();
}

bool Warpgroups::issue(std::uint32_t warp, const WarpgroupIssue& issue) {
  if (groups_.empty()) groups_.resize((warps_ + kWarpsPerGroup - 1) / kWarpsPerGroup);
  Group& group = groups_[warp / kWarpsPerGroup];
  const std::uint64_t place = group.issued[warp % kWarpsPerGroup]++ - group.first;
  if (place == group.open.size()) group.open.push_back(issue);
  const bool same = group.open[place] == issue;
  const std::uint64_t all = *std::min_element(group.issued.begin(), group.issued.end());
  for (; group.first < all; ++group.first) group.open.pop_front();
  return same;
}

std::vector<Warpgroups::Missing> Warpgroups::missing() const {
  std::vector<Missing> result;
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    for (std::uint32_t i = 0; i < kWarpsPerGroup; ++i) {
      const std::uint64_t place = group.issued[i] - group.first;
      if (place == group.open.size()) continue;
      // A group of fewer warps lacks them from the start: one that exists stands for it.
      const std::uint32_t warp = g * kWarpsPerGroup + i;
      result.push_back({std::min(warp, warps_ - 1), group.open[place].instruction});
    }
  }
  return result;
}

}  // namespace tilescope::emulator

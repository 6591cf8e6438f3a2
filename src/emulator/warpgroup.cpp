#include "emulator/warpgroup.hpp"

#include <algorithm>

namespace tilescope::emulator {
namespace {

constexpr std::size_t kMostCommits = 64;  ///< more than a wait leaves pending

}  // namespace

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

void Warpgroups::commit(std::uint32_t warp) {
  if (groups_.empty()) return;
  Group& group = groups_[warp / kWarpsPerGroup];
  auto& commits = group.commits[warp % kWarpsPerGroup];
  commits.push_back(group.issued[warp % kWarpsPerGroup]);
  if (commits.size() > kMostCommits) commits.pop_front();
}

std::uint64_t Warpgroups::awaited(std::uint32_t warp, std::uint32_t pending) const {
  if (groups_.empty()) return 0;
  const auto& commits = groups_[warp / kWarpsPerGroup].commits[warp % kWarpsPerGroup];
  return pending < commits.size() ? commits[commits.size() - 1 - pending] : 0;
}

std::uint64_t Warpgroups::issued(std::uint32_t warp) const {
  return groups_.empty() ? 0 : groups_[warp / kWarpsPerGroup].issued[warp % kWarpsPerGroup];
}

std::uint32_t Warpgroups::behind(std::uint32_t warp) {
  Group& group = groups_[warp / kWarpsPerGroup];
  group.told = true;
  return group.open[group.issued[warp % kWarpsPerGroup] - group.first].instruction;
}

std::vector<Warpgroups::Missing> Warpgroups::missing() const {
  std::vector<Missing> result;
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    if (group.told) continue;
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

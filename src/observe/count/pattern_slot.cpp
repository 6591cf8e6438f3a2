#include "observe/count/pattern_slot.hpp"

namespace tilescope::observe {

AccessTally& tally_of(std::vector<AccessTally>& tallies, emulator::Space space,
                      emulator::AccessKind kind) {
  for (AccessTally& tally : tallies) {
    if (tally.space == space && tally.kind == kind) return tally;
  }
  tallies.push_back({space, kind, {}, {}});
  return tallies.back();
}

void add_tallies(const std::vector<AccessTally>& tallies, std::vector<AccessTally>& sums) {
  for (const AccessTally& tally : tallies) {
    AccessTally& sum = tally_of(sums, tally.space, tally.kind);
    sum.sectors += tally.sectors;
    sum.wavefronts += tally.wavefronts;
  }
}

void PatternSlot::flush() {
  if (known == 0) return;
  if (counted) {
    AccessTally& tally = tally_of(tallies, space, kind);
    for (const PatternCost& cost : costs) {
      const std::uint64_t n = cost.hits;
      if (n == 0) continue;
      if (space == emulator::Space::shared) {
        tally.wavefronts += {n, cost.units * n, cost.ideal * n, ways};
      } else {
        tally.sectors += {n, cost.units * n, cost.ideal * n};
      }
    }
  }
  costs = {};
  known = 0;
}

}  // namespace tilescope::observe

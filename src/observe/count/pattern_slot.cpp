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

void add_tally(Counts& counts, const AccessTally& tally) {
  switch (tally.space) {
    case emulator::Space::global:
      switch (tally.kind) {
        case emulator::AccessKind::load:
        case emulator::AccessKind::async_load:
          counts.global_load += tally.sectors;
          return;
        case emulator::AccessKind::atomic:
          counts.global_atomic += tally.sectors;
          return;
        case emulator::AccessKind::reduction:
          counts.global_reduction += tally.sectors;
          return;
        default:
          counts.global_store += tally.sectors;
          return;
      }
    case emulator::Space::local:
      (tally.kind == emulator::AccessKind::load ? counts.local_load : counts.local_store) +=
          tally.sectors;
      return;
    case emulator::Space::shared:
      switch (tally.kind) {
        case emulator::AccessKind::load:
        case emulator::AccessKind::matrix_load:
          counts.shared_load += tally.wavefronts;
          return;
        case emulator::AccessKind::atomic:
        case emulator::AccessKind::reduction:
          counts.shared_atomic += tally.wavefronts;
          return;
        case emulator::AccessKind::async_store:
          counts.shared_async += tally.wavefronts;
          return;
        default:
          counts.shared_store += tally.wavefronts;
          return;
      }
    default:
      return;
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

#include "observe/check/found_so_far.hpp"

#include <utility>

namespace tilescope::observe {

void FoundSoFar::add(const FaultLog& faults, const RaceLog& races, const PlaceTable& places) {
  const std::lock_guard lock(mutex_);
  const auto keep = [&](int kind, emulator::InstructionId first, emulator::InstructionId second) {
    Key key{kind, places.place(first), places.place(second)};
    if (key.second < key.first) std::swap(key.first, key.second);
    keys_.insert(std::move(key));
  };
  faults.for_each(
      [&](FindingKind kind, emulator::InstructionId first, emulator::InstructionId second) {
        // Another mistake may explain the wait in the end.
        if (kind != FindingKind::endless_wait) keep(static_cast<int>(kind), first, second);
      });
  for (const auto& [key, example] : races.races()) {
    // Writes of the same bits may be no more than a note.
    if (!key.same_bits) keep(-1, key.earlier, key.later);
  }
  count_.store(keys_.size(), std::memory_order_relaxed);
}

}  // namespace tilescope::observe

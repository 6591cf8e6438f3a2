#include "observe/check/volatile_races.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {

void FlagWords::add(std::uint64_t word, Use use) {
  if (words_.size() == kMost) {
    overflowed_ = true;
    return;
  }
  Use& known = words_[word];
  known = std::max(known, use);
}

void FlagWords::add(const emulator::Access& access, AccessRole role) {
  // A decision outside of a wait is common with data in shared memory: sorting compares.
  const bool data = access.space == emulator::Space::shared && !role.waits &&
                    access.kind == emulator::AccessKind::load;
  if (!role.decides || data) return;
  const bool waits = role.waits || access.kind == emulator::AccessKind::atomic;
  for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
    const std::uint64_t first = access.addresses[std::countr_zero(m)];
    for (std::uint64_t at = first; at < first + access.bytes; at += 4) {
      add(word_at(access.space, at), waits ? Use::waits : Use::decides);
    }
  }
}

void FlagWords::merge(const FlagWords& other) {
  for (const auto& [word, use] : other.words_) add(word, use);
  overflowed_ = overflowed_ || other.overflowed_;
}

FlagWords::Use FlagWords::use(emulator::Space space, std::uint64_t address) const {
  if (overflowed_) return Use::waits;
  const auto found = words_.find(word_at(space, address));
  return found == words_.end() ? Use::none : found->second;
}

void VolatileRaces::add(Pairs& pairs, const RaceExample& example) {
  pairs.count += example.count;
  const auto [found, fresh] =
      pairs.examples.try_emplace({example.later_block, example.address}, example);
  if (!fresh) found->second.count += example.count;
  if (pairs.examples.size() > kMostExamples) pairs.examples.erase(std::prev(pairs.examples.end()));
}

void VolatileRaces::add(const RaceKey& key, const RaceExample& example) {
  add(pairs_[key], example);
}

void VolatileRaces::merge(const VolatileRaces& other) {
  for (const auto& [key, pairs] : other.pairs_) {
    Pairs& into = pairs_[key];
    std::uint64_t listed = 0;
    for (const auto& [place, example] : pairs.examples) {
      listed += example.count;
      add(into, example);
    }
    into.count += pairs.count - listed;
  }
}

void VolatileRaces::resolve(const FlagWords& flags, const UpdatePairs& updates,
                            RaceLog& log) const {
  for (const auto& [key, pairs] : pairs_) {
    RaceExample race;
    std::uint64_t left_out = 0;
    for (const auto& [place, example] : pairs.examples) {
      const FlagWords::Use use = flags.use(key.space, example.address);
      // Nobody counts in a flag: an update that is not atomic loses counts.
      const bool flag =
          use == FlagWords::Use::waits ||
          (use == FlagWords::Use::decides && !updates.one_update(key.earlier, key.later));
      if (flag) {
        left_out += example.count;
      } else if (race.count == 0) {
        race = example;
      }
    }
    if (race.count == 0) continue;
    race.count = pairs.count - left_out;
    log.add(key, race);
  }
}

}  // namespace tilescope::observe

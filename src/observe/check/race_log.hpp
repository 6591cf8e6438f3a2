// The recorded races: folded by the two instructions, with the first example in block order.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "observe/access_tag.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::observe {

struct RaceKey {
  std::uint32_t earlier = 0, later = 0;  ///< InstructionId
  AccessVerb earlier_verb = AccessVerb::write, later_verb = AccessVerb::write;
  RaceRelation relation = RaceRelation::same_block;
  emulator::Space space = emulator::Space::shared;
  bool same_bits = false;  ///< both write the same bits, or one writes back those that it read

  friend auto operator<=>(const RaceKey&, const RaceKey&) = default;
};

struct RaceExample {
  std::uint64_t count = 0;
  std::uint64_t earlier_block = 0, later_block = 0;
  AccessTag earlier, later;
  std::uint64_t address = 0;
};

class RaceLog {
 public:
  void add(const RaceKey& key, const RaceExample& example);
  /// Keeps the lowest block's example of each race; adds the counts.
  void merge(const RaceLog& other);
  bool empty() const { return races_.empty(); }
  /// In order of key.
  const std::map<RaceKey, RaceExample>& races() const { return races_; }

 private:
  std::map<RaceKey, RaceExample> races_;
};

}  // namespace tilescope::observe

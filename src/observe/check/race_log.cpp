#include "observe/check/race_log.hpp"

namespace tilescope::observe {

void RaceLog::add(const RaceKey& key, const RaceExample& example) {
  const auto [found, fresh] = races_.try_emplace(key, example);
  if (fresh) return;
  RaceExample& known = found->second;
  const std::uint64_t count = known.count + example.count;
  // Keeps the first of one block: a block's events come in the same order in every run.
  if (example.later_block < known.later_block) known = example;
  known.count = count;
}

void RaceLog::merge(const RaceLog& other) {
  for (const auto& [key, example] : other.races_) add(key, example);
}

}  // namespace tilescope::observe

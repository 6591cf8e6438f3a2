// Unordered pairs of strong accesses of which one is volatile. Volatile makes no data race benign,
// but it is how flags were written before CUDA had atomics with orders. So such a pair is a race
// unless the word serves as a flag: a strong read of it, by any thread of the launch, decides a
// branch. That is known for certain only when the launch has ended.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "emulator/events.hpp"
#include "observe/check/access_roles.hpp"
#include "observe/check/race_log.hpp"
#include "observe/check/update_pairs.hpp"

namespace tilescope::observe {

/// The words that serve as flags. Shared memory counts as one, whatever the block.
class FlagWords {
 public:
  enum class Use : std::uint8_t { none, decides, waits };

  /// The lanes of `access` read flags.
  void add(const emulator::Access& access, AccessRole role);
  void merge(const FlagWords& other);
  Use use(emulator::Space space, std::uint64_t address) const;

 private:
  static constexpr std::size_t kMost = 1u << 20;
  void add(std::uint64_t word, Use use);

  std::unordered_map<std::uint64_t, Use> words_;
  bool overflowed_ = false;  ///< any word may be a flag
};

class VolatileRaces {
 public:
  void add(const RaceKey& key, const RaceExample& example);
  void merge(const VolatileRaces& other);
  bool empty() const { return pairs_.empty(); }
  /// Adds the pairs whose words are no flags to `log`.
  void resolve(const FlagWords& flags, const UpdatePairs& updates, RaceLog& log) const;

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< block, address
  struct Pairs {
    std::uint64_t count = 0;
    std::map<Place, RaceExample> examples;  ///< the first ones
  };
  static constexpr std::size_t kMostExamples = 64;
  static void add(Pairs& pairs, const RaceExample& example);

  std::map<RaceKey, Pairs> pairs_;
};

}  // namespace tilescope::observe

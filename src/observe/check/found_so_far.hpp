// The findings that are certain while a launch still runs, so that a check can end early.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <mutex>
#include <set>

#include "observe/check/fault_findings.hpp"
#include "observe/check/race_log.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

/// Counts different findings, never more than a report will have: of faults and of races inside a
/// block, by kind and source lines. (Races between blocks and reads of undefined memory are known
/// when the launch has ended.) Safe from several threads.
class FoundSoFar {
 public:
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  void add(const FaultLog& faults, const RaceLog& races, const PlaceTable& places);

 private:
  struct Key {
    int kind;  ///< FindingKind of a fault or meeting; -1: a race
    SourcePlace first, second;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::mutex mutex_;
  std::set<Key> keys_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace tilescope::observe

// The costs of an instruction's accesses to memory, pattern by pattern.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emulator/events.hpp"
#include "observe/count/footprint.hpp"
#include "observe/lane_runs.hpp"

namespace tilescope::observe {

inline constexpr std::uint32_t kWordBytes = 4;

/// The sum of one instruction's accesses.
struct AccessTally {
  emulator::Space space = emulator::Space::global;
  emulator::AccessKind kind = emulator::AccessKind::load;
  SectorCounts sectors;
  WavefrontCounts wavefronts;
};

AccessTally& tally_of(std::vector<AccessTally>& tallies, emulator::Space space,
                      emulator::AccessKind kind);
void add_tallies(const std::vector<AccessTally>& tallies, std::vector<AccessTally>& sums);

/// Adds to the counts of the tally's space and kind.
void add_tally(Counts& counts, const AccessTally& tally);

/// The costs of one execution of a pattern, and the number of executions. Sectors depend on the
/// word of a sector in which the first lane's address lies, so there is one cost for each word;
/// wavefronts do not.
struct PatternCost {
  std::uint64_t hits = 0;
  std::uint32_t units = 0;  ///< sectors, or wavefronts in shared memory
  std::uint32_t ideal = 0;
};

/// The last pattern of an instruction. Most executions find theirs here and only count a hit.
struct PatternSlot {
  std::uint32_t pattern = 0;
  std::uint32_t target_pattern = 0;  ///< of the shared side of a copy past the L1 cache
  emulator::Space space = emulator::Space::global;
  emulator::AccessKind kind = emulator::AccessKind::load;
  bool counted = true;     ///< false: another instruction represents this part of a joined access
  std::uint8_t known = 0;  ///< one bit for each of `costs`
  std::uint32_t low_bits = 0;  ///< of the first lane's address, below a word
  std::uint32_t ways = 0;
  std::array<PatternCost, 8> costs;
  std::vector<AccessTally> tallies;
  // global memory only
  std::vector<Run> runs;
  std::uint64_t last_base = 0;
  std::uint32_t region = Footprint::kNowhere;

  /// Adds what the pattern has cost to the tallies; another may follow.
  void flush();
};

}  // namespace tilescope::observe

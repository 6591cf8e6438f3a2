// The counts of a sample of blocks, scaled to all blocks of the grid, with their spread.
#pragma once

#include <cstdint>
#include <map>
#include <tilescope/counts.hpp>
#include <vector>

#include "emulator/events.hpp"
#include "observe/count/block_plan.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

/// The counts of one block that events give, by instruction. Those that are known of all blocks
/// (instructions, branches, operations) are not among them.
using BlockTally = std::map<emulator::InstructionId, Counts>;

/// Sums over the counted blocks of each stratum. They do not depend on the order of blocks, nor on
/// how blocks were divided among several objects that are merged.
class SampledCounts {
 public:
  SampledCounts(const BlockPlan& plan, const PlaceTable& places);

  void add(std::uint64_t block, const BlockTally& tally);
  void merge(const SampledCounts& other);

  /// Estimates for all blocks.
  Counts estimate(emulator::InstructionId instruction) const;
  /// Those of a line, by its index in the table of places, and of the whole launch. Empty for
  /// blocks that were not drawn at random.
  Spreads spread_of_line(std::uint32_t place) const;
  Spreads spread_of_totals() const;

 private:
  __extension__ using uint128 = unsigned __int128;
  /// Sums of the counts of blocks and of their squares, by named_counts().
  struct Moments {
    std::vector<std::uint64_t> sums;
    std::vector<uint128> squares;
    void add(const Counts& counts);
    void merge(const Moments& other);
  };
  struct OfStratum {
    BlockTally sums;
    std::map<std::uint32_t, Moments> lines;  ///< by place
    Moments totals;
  };

  template <typename MomentsOf>
  Spreads spread(MomentsOf&& moments_of) const;

  const BlockPlan& plan_;
  const PlaceTable& places_;
  std::vector<OfStratum> strata_;
};

}  // namespace tilescope::observe

// The observer that counts sectors, wavefronts, divergence and operations.
//
//     CountObserver counter;
//     options.observers = {&counter};
//     machine.launch(...);
//     report(counter.result());
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/events.hpp"
#include "observe/count/block_plan.hpp"
#include "observe/count/counts.hpp"
#include "observe/count/footprint.hpp"
#include "observe/count/merge_plan.hpp"
#include "observe/count/pattern_slot.hpp"
#include "observe/count/sampled_counts.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

class CountObserver : public emulator::Observer {
 public:
  /// Without a plan, accesses are joined by merge_by_rule.
  CountObserver() = default;
  explicit CountObserver(std::optional<MergePlan> plan);
  /// Counts some blocks, and estimates from them what all would give; without a sample all.
  explicit CountObserver(std::optional<BlockSample> sample);
  ~CountObserver() override;

  std::uint32_t events() const override;
  std::uint32_t sums() const override { return emulator::kGlobalAccess | emulator::kSharedAccess; }
  bool sums_by_block() const override { return sampled_ != nullptr; }
  emulator::TouchedBytes* touched_bytes() override { return footprint_.get(); }
  bool wants_block(std::uint64_t linear) const override { return blocks_.contains(linear); }
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;
  void end_launch(const emulator::LaunchTotals& totals) override;

  /// The counts of the last launch that has ended.
  const CountedLaunch& result() const { return result_; }

 private:
  /// The counts of an instruction that events gave, for all blocks.
  Counts counted(emulator::InstructionId id) const;

  std::optional<MergePlan> given_plan_;
  std::optional<BlockSample> sample_;
  PlaceTable places_;
  BlockPlan blocks_;
  std::unique_ptr<SampledCounts> sampled_;  ///< if not all blocks are counted
  MergePlan plan_;
  const emulator::Program* program_ = nullptr;
  std::unique_ptr<Footprint> footprint_;
  std::vector<std::vector<AccessTally>> tallies_;    ///< by instruction; one for each space that it
                                                     ///< accesses
  std::map<emulator::InstructionId, Counts> units_;  ///< bulk copies, textures, the cluster
  std::vector<std::uint64_t> divergent_;
  std::vector<std::optional<DivergedWarp>> diverged_;
  CountedLaunch result_;
};

}  // namespace tilescope::observe

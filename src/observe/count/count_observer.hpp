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
#include "observe/count/counts.hpp"
#include "observe/count/footprint.hpp"
#include "observe/count/merge_plan.hpp"
#include "observe/count/pattern_slot.hpp"

namespace tilescope::observe {

class CountObserver : public emulator::Observer {
 public:
  /// Without a plan, accesses are joined by merge_by_rule.
  explicit CountObserver(std::optional<MergePlan> plan = std::nullopt);
  ~CountObserver() override;

  std::uint32_t events() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;
  void end_launch(const emulator::LaunchTotals& totals) override;

  /// The counts of the last launch that has ended.
  const CountedLaunch& result() const { return result_; }

 private:
  std::optional<MergePlan> given_plan_;
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

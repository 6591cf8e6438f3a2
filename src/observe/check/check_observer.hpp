// The observer that finds defects.
//
//     CheckObserver checker;
//     options.observers = {&checker};
//     machine.launch(...);
//     for (const Finding& finding : checker.findings()) ...
//
// Findings are the same for any number of host threads.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/grid_waits.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::observe {

struct LaunchChecks;
class FoundSoFar;

class CheckObserver : public emulator::Observer {
 public:
  /// `enough`: a launch ends early when so many different findings are certain, of all launches
  /// together; 0: never.
  explicit CheckObserver(std::uint64_t enough = 0);
  ~CheckObserver() override;

  std::uint32_t events() const override;
  bool wants_block_order() const override;
  bool tracks_initialisation() const override { return true; }
  bool takes_known_accesses() const override { return true; }
  bool has_seen_enough() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;
  void end_launch(const emulator::LaunchTotals& totals) override;

  /// The findings of the last launch that has ended; folded and sorted.
  const std::vector<Finding>& findings() const { return findings_; }
  /// The kernel of that launch, as its source names it, and the symbols of its shared memory.
  const std::string& kernel() const { return kernel_; }
  const std::vector<std::string>& shared_symbols() const { return shared_symbols_; }
  /// Blocks of that launch that did not come to their end because it had seen enough.
  std::uint64_t blocks_left_out() const { return blocks_left_out_; }
  /// The part that could not be checked to the end.
  Limitation limitation() const { return limitation_; }

 private:
  std::uint64_t enough_;
  std::unique_ptr<FoundSoFar> found_;
  std::shared_ptr<LaunchChecks> launch_;
  /// The launch that made it, by the number of a launch by a kernel that has not begun yet.
  std::unordered_map<std::uint64_t, std::shared_ptr<const LaunchChecks>> parents_;
  Stretches before_;  ///< that the last launch has written, if its program knows of other grids
  std::vector<Finding> findings_;
  std::string kernel_;
  std::vector<std::string> shared_symbols_;
  std::uint64_t blocks_left_out_ = 0;
  Limitation limitation_ = Limitation::none;
};

}  // namespace tilescope::observe

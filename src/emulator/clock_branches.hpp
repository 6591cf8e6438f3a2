// Branches that ask a clock, as loops do that sleep longer the longer they have waited.
//
// Such a branch decides nothing if its ways meet again and do nothing before that has an effect,
// which is for the caller to see. A branch that leaves a loop after some time decides much.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/program.hpp"

namespace tilescope::emulator {

class ClockBranches {
 public:
  /// `ran`: the blocks of the function that have run. Those to which a clock may lead from them
  /// count as if they had.
  ClockBranches(const CodeFunction& function, std::vector<bool> ran);

  /// The blocks that have run, or may run when the clock says so.
  const std::vector<bool>& runs() const { return runs_; }
  /// The clock may say when a loop is left, or lead to ways that meet nowhere.
  bool ends_waits() const { return ends_waits_; }
  /// Does the register's value depend on a clock, or on the way that it chose?
  bool tells_time(std::uint32_t reg) const { return tells_time_[reg]; }
  /// Is it executed, or which way does it lead, by the clock?
  bool guards(const ptx::Instruction& instruction) const {
    return instruction.guarded() && tells_time_[instruction.guard];
  }

 private:
  void follow(std::uint32_t block);
  void follow_ways(std::uint32_t block);

  const CodeFunction& function_;
  std::vector<bool> runs_;
  std::vector<bool> chosen_;      ///< blocks that are entered, or not, by the clock
  std::vector<bool> tells_time_;  ///< by register
  bool grew_ = false;
  bool ends_waits_ = false;
};

}  // namespace tilescope::emulator

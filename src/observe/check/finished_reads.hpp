// Reads that are over when a flag behind them is set, though no fence stands between.
//
// A thread that has used the value of a load has it: no later write of another block can change it.
// So a block may read its part of an array, use it, set a relaxed flag, and let the blocks that
// read the flag overwrite that part, as single-pass algorithms in place do. A value counts as used
// when it has gone, by whatever arithmetic, into a store, a branch, an address or another lane. A
// load that is only used behind the flag may be late: the flag can overtake it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "emulator/program.hpp"

namespace tilescope::observe {

class FinishedReads {
 public:
  explicit FinishedReads(const emulator::Program& program) : program_(program) {}

  /// Whether every thread has used the value of this load before it, or a thread that it has met
  /// since, can set a flag for other blocks.
  bool contains(emulator::InstructionId load);

 private:
  const emulator::Program& program_;
  std::unordered_map<emulator::InstructionId, bool> known_;
};

}  // namespace tilescope::observe

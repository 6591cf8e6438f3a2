// A function as the compiler knows it whatever values its registers have: its operations, and at
// each place the registers that are still read.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/compiled/known_operation.hpp"
#include "emulator/compiled/register_set.hpp"
#include "emulator/compiled_code.hpp"

namespace tilescope::emulator::compiled {

class FunctionPlan {
 public:
  /// `watch`: what compiled code does for observers. Where it announces accesses it has no copies:
  /// the interpreter's executors announce both of their sides.
  FunctionPlan(const Program& program, const CodeFunction& function, AccessWatch watch);

  const CodeFunction& function() const { return function_; }
  const RegisterTable& registers() const { return registers_; }
  /// By index in CodeFunction::code. The instruction that ends a block only has the registers that
  /// it mentions.
  const Operation& operation(std::uint32_t index) const { return operations_[index]; }
  const RegisterSet& live_at_begin(std::uint32_t block) const { return live_[block]; }
  /// The registers that are read at or behind each instruction of a block's body, and at last at
  /// its end.
  std::vector<RegisterSet> live_in_block(std::uint32_t block) const;
  /// CompiledThread::frame_resets for a frame of so many bytes.
  std::vector<FrameRange> frame_resets(std::uint32_t bytes) const;
  /// The predicate is read by nothing but branches, and by logic of predicates that are so too.
  bool only_branches(std::uint32_t predicate) const { return only_branches_[predicate]; }
  /// All lanes that reach the block's end leave the kernel there.
  bool ends_warp(std::uint32_t block) const;
  /// The blocks that may follow.
  std::vector<std::uint32_t> successors(std::uint32_t block) const;

 private:
  RegisterSet live_at_end(std::uint32_t block) const;
  void step_back(const Operation& operation, RegisterSet& live) const;
  void find_live();
  void find_only_branches();

  const CodeFunction& function_;
  RegisterTable registers_;
  std::vector<Operation> operations_;
  std::vector<RegisterSet> live_;
  std::vector<bool> only_branches_;  ///< by register
  bool sets_carry_ = false;          ///< some instruction sets the condition code
};

}  // namespace tilescope::emulator::compiled

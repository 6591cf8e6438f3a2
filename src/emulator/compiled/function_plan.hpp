// A function as the compiler knows it whatever values its registers have: its operations, and at
// each place the registers that are still read.
#pragma once

#include <cstdint>
#include <memory>
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

  const CodeFunction& function() const { return *function_; }
  const RegisterTable& registers() const { return body_->registers; }
  /// Those of the function, and behind them copies of rounds of loops.
  const std::vector<CodeBlock>& blocks() const { return blocks_; }
  /// The block of the function that block `b` is, or is a copy of.
  std::uint32_t origin(std::uint32_t b) const { return origins_[b]; }
  /// The branch that ends block `latch` leads back to the begin of a loop whose blocks lie between,
  /// that is entered there alone, and whose rounds can have copies.
  bool is_plain_loop(std::uint32_t latch) const;
  /// Whoever comes to the loop of `latch` from outside first goes through a copy of its round; only
  /// the branch that ends the copy leads to the loop. Returns the copy of `latch`.
  std::uint32_t peel(std::uint32_t latch);
  /// By index in CodeFunction::code. The instruction that ends a block only has the registers that
  /// it mentions.
  const Operation& operation(std::uint32_t index) const { return body_->operations[index]; }
  const RegisterSet& live_at_begin(std::uint32_t block) const {
    return body_->live[origins_[block]];
  }
  /// The registers that are read at or behind each instruction of a block's body, and at last at
  /// its end.
  std::vector<RegisterSet> live_in_block(std::uint32_t block) const;
  /// CompiledThread::frame_resets for a frame of so many bytes.
  std::vector<FrameRange> frame_resets(std::uint32_t bytes) const;
  /// The predicate is read by nothing but branches, and by logic of predicates that are so too.
  bool only_branches(std::uint32_t predicate) const { return body_->only_branches[predicate]; }
  /// Nothing of the register is read but whether it is negative.
  bool only_sign(std::uint32_t reg) const { return body_->only_signs[reg]; }
  /// All lanes that reach the block's end leave the kernel there.
  bool ends_warp(std::uint32_t block) const;
  /// The blocks that may follow.
  std::vector<std::uint32_t> successors(std::uint32_t block) const;

 private:
  RegisterSet live_at_end(std::uint32_t block) const;
  void step_back(const Operation& operation, RegisterSet& live) const;
  void find_live();
  void find_only_branches();
  void find_only_signs();

  /// The same in each copy of a plan, whatever rounds of loops have copies in it.
  struct Body {
    explicit Body(const CodeFunction& function) : registers(function) {}
    RegisterTable registers;
    std::vector<Operation> operations;
    std::vector<RegisterSet> live;    ///< by block of the function
    std::vector<bool> only_branches;  ///< by register
    std::vector<bool> only_signs;     ///< by register
    bool sets_carry = false;          ///< some instruction sets the condition code
  };
  const CodeFunction* function_;
  std::vector<CodeBlock> blocks_;
  std::vector<std::uint32_t> origins_;  ///< by block
  std::shared_ptr<Body> body_;
};

}  // namespace tilescope::emulator::compiled

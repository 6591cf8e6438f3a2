#include "emulator/clock_branches.hpp"

#include <utility>

#include "emulator/special_register_values.hpp"
#include "ptx/opcode_table.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::emulator {

ClockBranches::ClockBranches(const CodeFunction& function, std::vector<bool> ran)
    : function_(function),
      runs_(std::move(ran)),
      chosen_(runs_.size(), false),
      tells_time_(function.registers.size(), false) {
  do {
    grew_ = false;
    for (std::uint32_t b = 0; b < runs_.size(); ++b) {
      if (runs_[b]) follow(b);
    }
  } while (grew_ && !ends_waits_);
}

/// Notes the registers that the block writes from a clock, or only because of one.
void ClockBranches::follow(std::uint32_t block) {
  const CodeBlock& code = function_.blocks[block];
  for (std::uint32_t i = code.begin; i < code.begin + code.size; ++i) {
    const ptx::Instruction& instruction = function_.source->instructions[i];
    const bool writes = ptx::has_destination(instruction);
    bool tells = chosen_[block] || guards(instruction);
    for (std::size_t o = writes ? 1 : 0; o < instruction.operands.size(); ++o) {
      const ptx::Operand& operand = instruction.operands[o];
      tells = tells || (operand.kind == ptx::Operand::Kind::special && is_counter(operand.special));
      ptx::visit_registers(operand, [&](std::uint32_t reg) { tells = tells || tells_time_[reg]; });
    }
    if (!writes || !tells) continue;
    ptx::visit_registers(instruction.operands[0], [&](std::uint32_t reg) {
      if (tells_time_[reg]) return;
      tells_time_[reg] = grew_ = true;
    });
  }
  if (code.end == BlockEnd::branch &&
      guards(function_.source->instructions[code.begin + code.size - 1])) {
    follow_ways(block);
  }
}

/// All blocks from a branch on the clock to where its ways meet. A branch that comes again before
/// says how often a loop runs.
void ClockBranches::follow_ways(std::uint32_t block) {
  const CodeBlock& from = function_.blocks[block];
  const std::uint32_t meet = from.reconverge;
  if (meet == kNone) {
    ends_waits_ = true;
    return;
  }
  std::vector<bool> seen(runs_.size(), false);
  std::vector<std::uint32_t> open{from.target, from.next};
  while (!open.empty() && !ends_waits_) {
    const std::uint32_t b = open.back();
    open.pop_back();
    if (b == meet || seen[b]) continue;
    seen[b] = true;
    if (!runs_[b] || !chosen_[b]) runs_[b] = chosen_[b] = grew_ = true;
    const CodeBlock& code = function_.blocks[b];
    const bool falls = code.end != BlockEnd::branch ||
                       function_.source->instructions[code.begin + code.size - 1].guarded();
    ends_waits_ =
        b == block || code.end == BlockEnd::branch_indexed || (falls && code.next == kNone);
    if (code.end == BlockEnd::branch) open.push_back(code.target);
    if (falls && code.next != kNone) open.push_back(code.next);
  }
}

}  // namespace tilescope::emulator

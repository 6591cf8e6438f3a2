#include "observe/check/update_pairs.hpp"

#include <algorithm>

#include "ptx/control_flow.hpp"

namespace tilescope::observe {

UpdatePairs::UpdatePairs(const emulator::Program& program)
    : program_(program), sites_(program.instructions().size()) {
  const auto instructions = program.instructions();
  for (std::uint32_t first = 0; first < instructions.size(); ++first) {
    if (instructions[first].index != 0) continue;
    const ptx::Function* function = program.functions()[instructions[first].function].source;
    if (function == nullptr) continue;
    AddressValues values(program.module(), *function);
    const ptx::ControlFlow flow = ptx::build_control_flow(*function);
    for (const ptx::BasicBlock& block : flow.blocks) {
      values.begin_block();
      for (std::uint32_t i = block.begin; i < block.end; ++i) {
        const ptx::Instruction& instruction = function->instructions[i];
        const ptx::Effect effect = ptx::info(instruction.opcode).effect;
        const bool load = effect == ptx::Effect::load, store = effect == ptx::Effect::store;
        const bool swap = instruction.modifiers.reduce == ptx::ReduceOp::cas;
        if (load || store || swap) {
          sites_[first + i] = {load, store || swap, swap,
                               values.address(instruction.operands[store ? 0 : 1])};
        }
        values.pass(instruction);
      }
    }
  }
}

bool UpdatePairs::same_address(const Site& x, const Site& y) {
  return x.address.root == y.address.root && x.address.version == y.address.version &&
         x.address.offset == y.address.offset;
}

bool UpdatePairs::feeds(emulator::InstructionId load, emulator::InstructionId store) const {
  const auto instructions = program_.instructions();
  const ptx::Function& function = *program_.functions()[instructions[load].function].source;
  // Registers that the loaded value reaches, until no more are found.
  std::vector<bool> reached(function.registers.size());
  const auto mark = [&](std::uint32_t reg) { reached[reg] = true; };
  for_each_written(*instructions[load].source, function, mark);
  const auto reads_reached = [&](const ptx::Operand& operand) {
    if (operand.kind == ptx::Operand::Kind::reg && operand.reg != ptx::no_index) {
      return static_cast<bool>(reached[operand.reg]);
    }
    return std::any_of(operand.elements.begin(), operand.elements.end(), [&](const auto& e) {
      return e.kind == ptx::Operand::Kind::reg && reached[e.reg];
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ptx::Instruction& instruction : function.instructions) {
      if (!ptx::has_destination(instruction) ||
          !std::any_of(instruction.operands.begin() + 1, instruction.operands.end(),
                       reads_reached)) {
        continue;
      }
      for_each_written(instruction, function, [&](std::uint32_t reg) {
        changed = changed || !reached[reg];
        reached[reg] = true;
      });
    }
  }
  return reads_reached(instructions[store].source->operands[sites_[store].swap ? 2 : 1]);
}

bool UpdatePairs::is_update(emulator::InstructionId load, emulator::InstructionId store) const {
  return program_.instruction(load).function == program_.instruction(store).function &&
         sites_[load].load && sites_[store].store && same_address(sites_[load], sites_[store]) &&
         feeds(load, store);
}

bool UpdatePairs::one_update(emulator::InstructionId a, emulator::InstructionId b) const {
  const auto loses = [&](emulator::InstructionId load, emulator::InstructionId store) {
    return !sites_[store].swap && is_update(load, store);
  };
  if (a != b) return loses(a, b) || loses(b, a);
  for (std::uint32_t id = 0; id < sites_.size(); ++id) {
    if (loses(id, a)) return true;
  }
  return false;
}

bool UpdatePairs::is_tested(emulator::InstructionId load) const {
  for (std::uint32_t id = 0; id < sites_.size(); ++id) {
    if (sites_[id].swap && is_update(load, id)) return true;
  }
  return false;
}

}  // namespace tilescope::observe

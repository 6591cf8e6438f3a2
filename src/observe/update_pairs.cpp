#include "observe/update_pairs.hpp"

#include "ptx/control_flow.hpp"

namespace tilescope::observe {

UpdatePairs::UpdatePairs(const emulator::Program& program)
    : sites_(program.instructions().size()), functions_(sites_.size()) {
  const auto instructions = program.instructions();
  for (std::uint32_t first = 0; first < instructions.size(); ++first) {
    functions_[first] = instructions[first].function;
    if (instructions[first].index != 0) continue;
    const ptx::Function* function = program.functions()[instructions[first].function].source;
    if (function == nullptr) continue;
    AddressValues values(program.module(), *function);
    const ptx::ControlFlow flow = ptx::build_control_flow(*function);
    for (const ptx::BasicBlock& block : flow.blocks) {
      values.begin_block();
      for (std::uint32_t i = block.begin; i < block.end; ++i) {
        const ptx::Instruction& instruction = function->instructions[i];
        const bool load = instruction.opcode == ptx::Opcode::ld;
        const bool store = instruction.opcode == ptx::Opcode::st;
        if (load || store) {
          sites_[first + i] = {load, store, values.address(instruction.operands[load ? 1 : 0])};
        }
        values.pass(instruction);
      }
    }
  }
}

bool UpdatePairs::same_address(const Site& x, const Site& y) const {
  return x.address.root == y.address.root && x.address.version == y.address.version &&
         x.address.offset == y.address.offset;
}

bool UpdatePairs::has_load(emulator::InstructionId store) const {
  for (std::uint32_t id = 0; id < sites_.size(); ++id) {
    if (functions_[id] == functions_[store] && sites_[id].load &&
        same_address(sites_[id], sites_[store])) {
      return true;
    }
  }
  return false;
}

bool UpdatePairs::one_update(emulator::InstructionId a, emulator::InstructionId b) const {
  if (functions_[a] != functions_[b]) return false;
  if (a == b) return sites_[a].store && has_load(a);
  const bool pair = (sites_[a].load && sites_[b].store) || (sites_[a].store && sites_[b].load);
  return pair && same_address(sites_[a], sites_[b]);
}

}  // namespace tilescope::observe

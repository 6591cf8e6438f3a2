#include "observe/check/store_values.hpp"

#include <algorithm>

#include "observe/address_values.hpp"

namespace tilescope::observe {
namespace {

using ptx::Operand;
using ptx::SpecialRegister;

}  // namespace

StoreValues::StoreValues(const emulator::Program& program)
    : values_(program.instructions().size()) {
  const auto instructions = program.instructions();
  for (std::uint32_t id = 0; id < instructions.size(); ++id) {
    if (instructions[id].index != 0) continue;
    const emulator::CodeFunction& function = program.functions()[instructions[id].function];
    if (function.source != nullptr) analyse(*function.source, id);
  }
}

StoreValues::Value StoreValues::value_of(const Operand& operand,
                                         const std::vector<Value>& registers) {
  switch (operand.kind) {
    case Operand::Kind::immediate:
      return {Extent::grid, true, operand.bits};
    case Operand::Kind::symbol:
      return {Extent::grid, false, 0};
    case Operand::Kind::special:
      switch (operand.special) {
        case SpecialRegister::ntid_x:
        case SpecialRegister::ntid_y:
        case SpecialRegister::ntid_z:
        case SpecialRegister::nctaid_x:
        case SpecialRegister::nctaid_y:
        case SpecialRegister::nctaid_z:
          return {Extent::grid, false, 0};
        case SpecialRegister::ctaid_x:
        case SpecialRegister::ctaid_y:
        case SpecialRegister::ctaid_z:
          return {Extent::block, false, 0};
        default:
          return {};
      }
    case Operand::Kind::reg:
      return operand.reg < registers.size() ? registers[operand.reg] : Value{};
    case Operand::Kind::address:
      if (operand.reg == ptx::no_index) return {Extent::grid, false, 0};
      return operand.reg < registers.size() ? registers[operand.reg] : Value{};
    default:
      return {};
  }
}

StoreValues::Value StoreValues::result_of(const ptx::Instruction& instruction,
                                          const std::vector<Value>& registers, bool in_kernel) {
  switch (ptx::info(instruction.opcode).result) {
    case ptx::Result::copied:
      return value_of(instruction.operands[1], registers);
    case ptx::Result::loaded: {
      // The same address gives the same value unless it is changed meanwhile, which is a race of
      // its own.
      Value value = value_of(instruction.operands[1], registers);
      value.constant = false;
      const ptx::Space space = instruction.modifiers.space;
      const bool parameter = space == ptx::Space::param || space == ptx::Space::param_entry ||
                             space == ptx::Space::param_func;
      const bool of_kernel =
          in_kernel && instruction.operands[1].symbol.kind == ptx::SymbolKind::parameter;
      if (space == ptx::Space::local || (parameter && !of_kernel) ||
          instruction.operands[0].kind != Operand::Kind::reg) {
        value.extent = Extent::thread;
      } else if (!parameter && space != ptx::Space::constant) {
        value.extent = std::max(value.extent, Extent::block);
      }
      return value;
    }
    case ptx::Result::per_thread:
      return {};
    case ptx::Result::computed:
      break;
  }
  Value value{Extent::grid, false, 0};
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
    value.extent = std::max(value.extent, value_of(instruction.operands[i], registers).extent);
  }
  return value;
}

StoreValues::Value StoreValues::stored(const ptx::Instruction& instruction,
                                       const std::vector<Value>& registers) {
  const Operand& operand = instruction.operands[1];
  if (operand.kind != Operand::Kind::vector) return value_of(operand, registers);
  Value value{Extent::grid, false, 0};
  for (const Operand& element : operand.elements) {
    value.extent = std::max(value.extent, value_of(element, registers).extent);
  }
  return value;
}

void StoreValues::analyse(const ptx::Function& function, std::uint32_t first_id) {
  std::vector<std::uint32_t> definitions(function.registers.size());
  for (const ptx::Instruction& instruction : function.instructions) {
    for_each_written(instruction, function, [&](std::uint32_t reg) { ++definitions[reg]; });
  }
  // Registers with several definitions hold different values at different times. Values from
  // guarded or loop-carried definitions are not followed: they count as each thread's own.
  std::vector<Value> registers(function.registers.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (const ptx::Instruction& instruction : function.instructions) {
      if (instruction.guarded()) continue;
      const Value value = result_of(instruction, registers, function.is_entry);
      for_each_written(instruction, function, [&](std::uint32_t reg) {
        if (definitions[reg] != 1 || registers[reg] == value) return;
        registers[reg] = value;
        changed = true;
      });
    }
  }
  // Device functions get their arguments from callers that are not examined; registers with such
  // values have no definition and stay each thread's own.
  for (std::uint32_t i = 0; i < function.instructions.size(); ++i) {
    const ptx::Instruction& instruction = function.instructions[i];
    const ptx::OpcodeInfo& facts = ptx::info(instruction.opcode);
    const bool counts =
        facts.engine == ptx::EngineRole::mbarrier && instruction.operands.size() == 2;
    if (facts.effect == ptx::Effect::store || counts) {
      values_[first_id + i] = stored(instruction, registers);
    }
  }
}

bool StoreValues::equal(emulator::InstructionId a, emulator::InstructionId b,
                        bool same_block) const {
  const Value& x = values_[a];
  const Value& y = values_[b];
  if (x.constant && y.constant) return x.bits == y.bits;
  if (a != b) return false;
  return x.extent == Extent::grid || (same_block && x.extent == Extent::block);
}

}  // namespace tilescope::observe

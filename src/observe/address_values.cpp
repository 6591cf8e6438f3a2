#include "observe/address_values.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {
namespace {

using ptx::Opcode;
using ptx::Operand;

constexpr unsigned kMostBits = 6;
/// ptxas places arrays of 16 bytes and more at multiples of 16, whatever their type requires.
constexpr unsigned kArrayBits = 4;

unsigned zero_bits_of_constant(std::uint64_t bits) {
  return std::min(kMostBits, static_cast<unsigned>(std::countr_zero(bits)));
}

bool is_constant(const Operand& operand) {
  return operand.kind == Operand::Kind::immediate && operand.literal == ptx::Literal::integer;
}

}  // namespace

AddressValues::AddressValues(const ptx::Module& module, const ptx::Function& function)
    : module_(module),
      function_(function),
      definitions_(function.registers.size()),
      zero_bits_(function.registers.size(), kMostBits),
      versions_(function.registers.size(), 0) {
  for (const ptx::Instruction& instruction : function.instructions) {
    for_each_written(instruction, function, [&](std::uint32_t reg) {
      definitions_[reg].instruction = &instruction;
      ++definitions_[reg].count;
    });
  }
  find_zero_bits();
}

/// Starts from the maximum and removes what a definition contradicts, so that the pointers of loops
/// keep the bits that all their definitions share.
void AddressValues::find_zero_bits() {
  for (std::size_t reg = 0; reg < definitions_.size(); ++reg) {
    if (definitions_[reg].count == 0) zero_bits_[reg] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const ptx::Instruction& instruction : function_.instructions) {
      const unsigned bits = result_zero_bits(instruction);
      for_each_written(instruction, function_, [&](std::uint32_t reg) {
        if (bits < zero_bits_[reg]) {
          zero_bits_[reg] = static_cast<std::uint8_t>(bits);
          changed = true;
        }
      });
    }
  }
}

unsigned AddressValues::zero_bits_of(const ptx::Symbol& symbol) const {
  const ptx::Variable* variable = nullptr;
  if (symbol.kind == ptx::SymbolKind::variable) variable = &module_.variables[symbol.index];
  if (symbol.kind == ptx::SymbolKind::local_variable) variable = &function_.variables[symbol.index];
  if (variable == nullptr) return 0;
  const unsigned declared = zero_bits_of_constant(variable->alignment);
  return variable->size >= 16 ? std::max(kArrayBits, declared) : declared;
}

unsigned AddressValues::zero_bits_of(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::reg:
      return operand.reg < zero_bits_.size() ? zero_bits_[operand.reg] : 0;
    case Operand::Kind::immediate:
      return is_constant(operand) ? zero_bits_of_constant(operand.bits) : 0;
    case Operand::Kind::symbol:
      return std::min(zero_bits_of(operand.symbol),
                      zero_bits_of_constant(static_cast<std::uint64_t>(operand.offset)));
    default:
      return 0;
  }
}

unsigned AddressValues::result_zero_bits(const ptx::Instruction& instruction) const {
  const auto bits = [&](std::size_t i) { return zero_bits_of(instruction.operands[i]); };
  switch (instruction.opcode) {
    case Opcode::mov:
    case Opcode::cvta:
    case Opcode::cvt:
      return instruction.operands[1].kind == Operand::Kind::vector ? 0 : bits(1);
    case Opcode::add:
    case Opcode::sub:
    case Opcode::or_:
    case Opcode::xor_:
      return std::min(bits(1), bits(2));
    case Opcode::and_:
      return std::max(bits(1), bits(2));
    case Opcode::shl:
      if (!is_constant(instruction.operands[2])) return bits(1);
      return static_cast<unsigned>(
          std::min<std::uint64_t>(kMostBits, bits(1) + instruction.operands[2].bits));
    case Opcode::mul:
    case Opcode::mad: {
      if (instruction.modifiers.part == ptx::Part::hi ||
          ptx::is_float(instruction.modifiers.type())) {
        return 0;
      }
      const unsigned product = std::min(kMostBits, bits(1) + bits(2));
      return instruction.opcode == Opcode::mul ? product : std::min(product, bits(3));
    }
    case Opcode::selp:
      return std::min(bits(1), bits(2));
    default:
      return 0;
  }
}

void AddressValues::begin_block() {
  // A block may be entered from several places, so its registers begin with new versions.
  for (std::uint32_t& version : versions_) ++version;
}

void AddressValues::pass(const ptx::Instruction& instruction) {
  for_each_written(instruction, function_, [&](std::uint32_t reg) { ++versions_[reg]; });
}

AddressValue AddressValues::address(const Operand& operand) const {
  AddressValue value;
  value.offset = operand.offset;
  const auto set_symbol = [&](const ptx::Symbol& symbol) {
    value.root = {ptx::no_index, symbol.kind, symbol.index};
    value.version = 0;
    value.zero_bits = zero_bits_of(symbol);
  };
  if (operand.reg == ptx::no_index) {
    set_symbol(operand.symbol);
    return value;
  }
  // Additions of constants are followed through registers that are written once only: those have
  // the same value wherever they are read.
  std::uint32_t reg = operand.reg;
  const auto once = [&](const Operand& o) {
    return o.kind == Operand::Kind::reg && definitions_[o.reg].count == 1;
  };
  for (std::size_t steps = 0; steps < definitions_.size(); ++steps) {
    if (definitions_[reg].count != 1) break;
    const ptx::Instruction& source = *definitions_[reg].instruction;
    if (source.guarded()) break;
    const std::vector<Operand>& o = source.operands;
    if (source.opcode == Opcode::mov && once(o[1])) {
      reg = o[1].reg;
    } else if (source.opcode == Opcode::mov && o[1].kind == Operand::Kind::symbol) {
      value.offset += o[1].offset;
      set_symbol(o[1].symbol);
      return value;
    } else if (source.opcode == Opcode::add && once(o[1]) && is_constant(o[2])) {
      value.offset += static_cast<std::int64_t>(o[2].bits);
      reg = o[1].reg;
    } else if (source.opcode == Opcode::sub && once(o[1]) && is_constant(o[2])) {
      value.offset -= static_cast<std::int64_t>(o[2].bits);
      reg = o[1].reg;
    } else {
      break;
    }
  }
  value.root.reg = reg;
  value.version = definitions_[reg].count == 1 ? 0 : versions_[reg];
  value.zero_bits = zero_bits_[reg];
  return value;
}

}  // namespace tilescope::observe

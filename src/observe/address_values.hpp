// Facts about an address from the text of a function: a value plus a constant, and a power of two
// that divides the value.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "ptx/module.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::observe {

/// The value from which an address counts: a register, or a variable.
struct AddressRoot {
  std::uint32_t reg = ptx::no_index;
  ptx::SymbolKind symbol = ptx::SymbolKind::none;
  std::uint32_t index = ptx::no_index;
  friend auto operator<=>(const AddressRoot&, const AddressRoot&) = default;
};

struct AddressValue {
  AddressRoot root;
  std::uint32_t version = 0;  ///< version of a register that is written more than once
  std::int64_t offset = 0;    ///< bytes from the root
  unsigned zero_bits = 0;     ///< low bits of the root that are known to be zero; at most 6
};

class AddressValues {
 public:
  AddressValues(const ptx::Module& module, const ptx::Function& function);

  /// Call it before the first instruction of a basic block, and after each: registers change.
  void begin_block();
  void pass(const ptx::Instruction& instruction);
  /// The value of the next instruction's address operand.
  AddressValue address(const ptx::Operand& operand) const;

 private:
  struct Definition {
    const ptx::Instruction* instruction = nullptr;  ///< the last one, if there are several
    std::uint32_t count = 0;
  };
  unsigned zero_bits_of(const ptx::Operand& operand) const;
  unsigned zero_bits_of(const ptx::Symbol& symbol) const;
  unsigned result_zero_bits(const ptx::Instruction& instruction) const;
  void find_zero_bits();

  const ptx::Module& module_;
  const ptx::Function& function_;
  std::vector<Definition> definitions_;  ///< by register
  std::vector<std::uint8_t> zero_bits_;  ///< by register
  std::vector<std::uint32_t> versions_;  ///< by register
};

/// Calls `visit(reg)` for every register that an instruction writes.
template <class Visit>
void for_each_written(const ptx::Instruction& instruction, const ptx::Function& function,
                      Visit visit) {
  const auto write = [&](const ptx::Operand& operand) {
    if (operand.kind == ptx::Operand::Kind::reg && operand.reg != ptx::no_index) visit(operand.reg);
    for (const ptx::Operand& element : operand.elements) {
      if (element.kind == ptx::Operand::Kind::reg) visit(element.reg);
    }
  };
  if (ptx::info(instruction.opcode).end == ptx::BlockEnd::call) {
    for (const ptx::Operand& operand : function.calls[instruction.detail].returns) write(operand);
  } else if (ptx::has_destination(instruction)) {
    write(instruction.operands[0]);
  }
}

}  // namespace tilescope::observe

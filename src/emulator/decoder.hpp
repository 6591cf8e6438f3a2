// The context of the decoders of single instructions (instructions/*.cpp): operands of PTX become
// offsets in the frame, constants become registers of the frame's image.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "emulator/program.hpp"

namespace tilescope::emulator {

/// Decodes the instructions of one function.
class FunctionDecoder {
 public:
  FunctionDecoder(const ptx::Module& module, const ptx::Function& function, CodeFunction& result);

  const ptx::Module& module() const { return module_; }
  const ptx::Function& function() const { return function_; }
  CodeFunction& result() { return result_; }

  /// Offset of a source operand read as `type`: a register, or one that holds the constant.
  std::uint32_t source(const ptx::Operand& operand, ptx::Type type);
  /// Offset of a destination; the sink if the result is discarded.
  std::uint32_t destination(const ptx::Operand& operand) const;
  std::uint32_t register_offset(std::uint32_t reg) const { return result_.registers[reg].offset; }
  /// Bytes per lane of a register operand (4, 8, 16; 0 for a predicate); for other operands those
  /// of `type`.
  unsigned width(const ptx::Operand& operand, ptx::Type type) const;
  /// The declared type of a register operand, else `otherwise`.
  ptx::Type declared(const ptx::Operand& operand, ptx::Type otherwise) const;
  /// Register of the frame that holds `bits` in every lane, `bytes` (4 or 8, 16) wide.
  std::uint32_t constant(std::uint64_t bits, unsigned bytes);
  /// A predicate of the frame that is true (or false) in every lane.
  std::uint32_t constant_predicate(bool value);
  /// A fresh register.
  std::uint32_t temporary(unsigned bytes);

  /// Sets a and offset of an address operand. `address_bytes` receives the width of a: 4 or 8.
  /// `generic`: symbols stand for their generic addresses.
  void address(const ptx::Operand& operand, bool generic, Code& code, unsigned& address_bytes);
  /// The address of a symbol in its own space or generic; that of a local variable counts from the
  /// frame.
  std::uint64_t symbol_address(const ptx::Symbol& symbol, bool generic) const;
  /// A register that holds the address of a symbol plus `offset`.
  std::uint32_t symbol_register(const ptx::Symbol& symbol, std::int64_t offset, unsigned bytes,
                                bool generic);
  bool frame_relative(const ptx::Symbol& symbol) const;
  /// Stores a list of offsets that lives as long as the function.
  void set_list(Code& code, std::vector<std::uint32_t> offsets);
  /// Whether any other instruction reads the register.
  bool used_elsewhere(std::uint32_t reg) const { return mentions_[reg] > 1; }
  /// The GPU's compute capability: 10 times major plus minor.
  unsigned capability() const { return addresses_->capability; }
  std::uint32_t next_pattern_slot() { return (*pattern_slots_)++; }
  bool is_kernel() const { return function_.is_entry; }
  /// The storage of a .param variable of the body, a parameter or a return value.
  const ParameterSlot* parameter_slot(const ptx::Symbol& symbol) const;

  // Set by ProgramDecoder before the first instruction.
  const SymbolAddresses* addresses_ = nullptr;
  const std::vector<std::uint64_t>* shared_offsets_ = nullptr;  ///< by module variable
  std::vector<std::uint64_t> variable_offsets_;  ///< by Function::variables: shared, local offset
  std::uint32_t* pattern_slots_ = nullptr;
  const std::vector<std::uint32_t>* functions_ = nullptr;  ///< program function by module function
  ProgramNeeds* needs_ = nullptr;
  std::string refusal_;  ///< why the last instruction was refused, if there is a particular reason
  std::vector<ParameterSlot> param_variables_;  ///< by Function::variables

  void lay_out();
  std::uint32_t allocate(unsigned bytes, unsigned alignment);

 private:
  void count_mentions();
  std::uint32_t special_use(ptx::SpecialRegister special, unsigned bytes, std::uint64_t addend);

  const ptx::Module& module_;
  const ptx::Function& function_;
  CodeFunction& result_;
  std::vector<std::uint32_t> mentions_;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> constants_;
};

/// Fills `code` (execute and operands) for `instruction`; false, perhaps with a refusal_, if there
/// is no implementation. One function for each name in the list of opcodes.
using Decode = bool (*)(FunctionDecoder&, const ptx::Instruction&, Code&);
#define OPCODE(enumerator, spelling, letters, decoder, ...) \
  bool decode_##decoder(FunctionDecoder&, const ptx::Instruction&, Code&);
#include "ptx/opcodes.def"
#undef OPCODE

/// Bytes per lane of a register: 4, 8, 16; 0 for a predicate.
unsigned register_bytes(ptx::Type type);
/// The function itself if `index` names an alias or a function with a body.
std::uint32_t resolve_alias(const ptx::Module& module, std::uint32_t index);
Builtin builtin_of(const ptx::Function& function);

}  // namespace tilescope::emulator

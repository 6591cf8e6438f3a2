// The classes of operands that instructions expect: the letters of OpcodeInfo::operands.
//
//   D d    of the first type: a number of exactly its width, or a predicate for .pred
//   T t    of the last type
//   X x    of the first type, or twice as wide with .wide
//   W w    a number of 32 bits
//   Q q    a number of 64 bits
//   J      as W, or a pair with a predicate: r|p
//   P p    a predicate; as the first operand perhaps a pair p|q
//   L l    as wide as the first (l: last) type or wider; with .v2, .v4, .v8 a vector of such
//   E e    as wide as the first type; with .v2, .v4, .v8 a vector of such
//   V v    as D d, or a vector whose elements together have that width; with .v2, .v4, .v8 a vector
//          of such
//   F f    a part of a matrix: a number of 32 or 64 bits, or a vector of such
//   Y y    as W w, perhaps a part of a register (%r1.b0); y also negated
//   n      a number of any width
//   o      a number of any width or a predicate
//   G g    anything, also vectors, pairs and addresses: of instructions that are not executed
//   a      an address in brackets
//   k      an address in brackets, perhaps with coordinates behind the base
//   m      an address in brackets or a number
//   i      an integer constant
//   b      a label
//
// An upper case letter is a register to write, or `_` where the result is thrown away. A lower case
// one is a value to read: a register, a constant, a special register or the address of a variable.
#pragma once

#include <string_view>

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// The letters for this form of the operation.
std::string_view operand_letters(Opcode opcode, const Modifiers& modifiers);

/// The type of operand `i` of a checked instruction.
Type operand_type(const Instruction& instruction, std::size_t i);

/// Whether the first operand receives a result.
inline bool has_destination(const Instruction& instruction) {
  const std::string_view letters = operand_letters(instruction.opcode, instruction.modifiers);
  return !instruction.operands.empty() && letters[0] >= 'A' && letters[0] <= 'Z';
}

/// Throws Failure unless number and classes of the operands match the operation.
void check_operands(const Function& function, const Instruction& instruction);

/// Throws Failure unless each list of `call` fits the parameters that the callee declares.
void check_call(const Function& function, const Call& call, const std::vector<Parameter>& returns,
                const std::vector<Parameter>& parameters, std::uint32_t line);

}  // namespace tilescope::ptx

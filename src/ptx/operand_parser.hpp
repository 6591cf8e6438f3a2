// Operands of instructions, with their names resolved.
#pragma once

#include <string_view>

#include "ptx/instruction.hpp"
#include "ptx/parse_context.hpp"
#include "ptx/scopes.hpp"

namespace tilescope::ptx {

class OperandParser {
 public:
  OperandParser(ParseContext& context, Scopes& scopes) : context_(context), scopes_(scopes) {}

  /// Reads one operand. Throws Failure.
  Operand parse() { return parse(0); }
  /// Reads a register of type pred, as a guard needs it.
  std::uint32_t parse_guard();

 private:
  Operand parse(int depth);
  Operand parse_address(int depth);
  Operand parse_vector(int depth);
  Operand parse_pair(Operand first);
  Operand parse_name();
  Operand parse_negated();
  Operand parse_constant_operand();
  Operand named(NameEntry& entry, std::string_view base, std::string_view suffix,
                const Token& token);
  void parse_offset(Operand& operand);
  std::uint64_t element_size(const Symbol& symbol) const;

  ParseContext& context_;
  Scopes& scopes_;
};

}  // namespace tilescope::ptx

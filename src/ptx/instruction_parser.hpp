// One instruction at a time, into the function under construction.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "ptx/operand_parser.hpp"
#include "ptx/parse_context.hpp"
#include "ptx/scopes.hpp"

namespace tilescope::ptx {

class InstructionParser {
 public:
  InstructionParser(ParseContext& context, Function& function, Scopes& scopes)
      : context_(context), function_(function), scopes_(scopes), operands_(context, scopes) {}

  /// Parses from behind `word`, the first word of the mnemonic, to the semicolon. Throws Failure.
  void parse(const Token& word) { parse(word, Instruction{}); }
  /// Parses from `@`.
  void parse_guarded();
  /// Called after the body: replaces the recorded uses of labels by their indices.
  void resolve_labels();

 private:
  void parse(const Token& word, Instruction instruction);
  const std::pair<const std::string_view, Mnemonic>& take_mnemonic(const Token& word);
  void parse_operands(Instruction& instruction);
  void add_constant(const Instruction& instruction, Operand& operand);
  void parse_branch(Instruction& instruction);
  void parse_indexed_branch(Instruction& instruction);
  void parse_call(Instruction& instruction);
  std::vector<Operand> parse_call_list();
  void check_callee(const Call& call, std::uint32_t line) const;
  void take_unknown(std::string_view spelling, Instruction& instruction);
  void finish(Instruction instruction);

  ParseContext& context_;
  Function& function_;
  Scopes& scopes_;
  OperandParser operands_;
};

}  // namespace tilescope::ptx

#include "ptx/instruction_parser.hpp"

#include "ptx/constant_expression.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::ptx {
namespace {

/// An instruction has at most a dozen operands, whatever the text says.
constexpr std::size_t most_operands = 16;
constexpr std::size_t most_arguments = 1u << 12;

}  // namespace

void InstructionParser::parse_guarded() {
  context_.lexer.next();
  Instruction instruction;
  instruction.guard_negated = context_.accept('!');
  instruction.guard = operands_.parse_guard();
  if (context_.token().kind != Token::Kind::word) context_.unexpected("an instruction");
  parse(context_.lexer.next(), std::move(instruction));
}

/// The mnemonic that begins with `word`; modifiers may stand apart from it ("add .s32").
const std::pair<const std::string_view, Mnemonic>& InstructionParser::take_mnemonic(
    const Token& word) {
  std::string_view text = word.text;
  if (context_.token().kind == Token::Kind::dotted_word) {
    std::string joined(text);
    while (context_.token().kind == Token::Kind::dotted_word) joined += context_.lexer.next().text;
    const auto known = context_.mnemonics.find(joined);
    if (known != context_.mnemonics.end()) return *known;
    text = context_.spelled.emplace_back(std::move(joined));
  }
  const auto known = context_.mnemonics.find(text);
  if (known != context_.mnemonics.end()) return *known;
  return *context_.mnemonics.emplace(text, parse_mnemonic(text)).first;
}

void InstructionParser::parse(const Token& word, Instruction instruction) {
  instruction.line = word.line;
  instruction.location = context_.lines.current();
  const auto& [spelling, mnemonic] = take_mnemonic(word);
  instruction.opcode = mnemonic.opcode;
  instruction.modifiers = mnemonic.modifiers;
  if (mnemonic.opcode == Opcode::unknown) {
    take_unknown(spelling, instruction);
    return finish(std::move(instruction));
  }
  if (!mnemonic.problem.empty()) fail(word.line, "{}", mnemonic.problem);
  switch (info(instruction.opcode).end) {
    case BlockEnd::branch:
      parse_branch(instruction);
      break;
    case BlockEnd::branch_indexed:
      parse_indexed_branch(instruction);
      break;
    case BlockEnd::call:
      parse_call(instruction);
      break;
    default:
      parse_operands(instruction);
      break;
  }
  if (!context_.at(';')) context_.unexpected("';' after an instruction");
  check_operands(function_, instruction);
  context_.lexer.next();  // only now: after an error, the text behind the semicolon is still there
  finish(std::move(instruction));
}

void InstructionParser::finish(Instruction instruction) {
  function_.instructions.push_back(std::move(instruction));
}

void InstructionParser::parse_operands(Instruction& instruction) {
  if (context_.at(';')) return;
  do {
    if (instruction.operands.size() == most_operands) {
      fail(instruction.line, "'{}' has too many operands", name(instruction.opcode));
    }
    instruction.operands.push_back(operands_.parse());
    if (context_.at('+')) add_constant(instruction, instruction.operands.back());
    // The manual puts .unified behind the address of ld.
    if (info(instruction.opcode).effect == Effect::load && context_.accept(".unified")) {
      instruction.modifiers.flags.set(static_cast<std::size_t>(Flag::unified));
    }
  } while (context_.accept(','));
}

/// `%r1 + 4` as an operand: an addition before the instruction, into a register of its own.
void InstructionParser::add_constant(const Instruction& instruction, Operand& operand) {
  const bool whole = operand.kind == Operand::Kind::reg && !operand.negated &&
                     operand.selector == Operand::Selector::none;
  const Type type = whole ? scopes_.type(operand.reg) : Type::none;
  const unsigned bits = bit_width(type);
  if (is_float(type) || (bits != 16 && bits != 32 && bits != 64)) {
    fail(instruction.line, "a constant can only be added to an integer register");
  }
  context_.lexer.next();
  Operand constant;
  constant.kind = Operand::Kind::immediate;
  constant.bits = parse_integer_constant(context_.lexer);
  const Mnemonic addition = parse_mnemonic(fmt::format("add.u{}", bits));
  Instruction sum = instruction;
  sum.opcode = addition.opcode;
  sum.modifiers = addition.modifiers;
  Operand result = operand;
  result.reg = scopes_.add_register(function_.registers[operand.reg].name, type);
  sum.operands = {result, std::exchange(operand, result), constant};
  finish(std::move(sum));
}

void InstructionParser::parse_branch(Instruction& instruction) {
  const Token label = context_.expect_name("a label");
  Operand operand;
  operand.kind = Operand::Kind::label;
  operand.label = scopes_.refer_label(label.text, label.line);
  instruction.operands.push_back(std::move(operand));
}

void InstructionParser::parse_indexed_branch(Instruction& instruction) {
  instruction.operands.push_back(operands_.parse());
  context_.expect(',', "between the index and the targets of brx.idx");
  const Token targets = context_.expect_name("the label of a .branchtargets");
  const NameEntry* entry = scopes_.find(targets.text);
  if (entry == nullptr || entry->kind != NameEntry::Kind::branch_targets) {
    fail(targets.line, "{} is not a .branchtargets declared above", quoted(targets.text));
  }
  instruction.detail = entry->index;
}

std::vector<Operand> InstructionParser::parse_call_list() {
  std::vector<Operand> list;
  context_.expect('(', "before the list of a call");
  if (context_.accept(')')) return list;
  do {
    if (list.size() == most_arguments) context_.unexpected("fewer arguments");
    Operand operand = operands_.parse();
    if (operand.kind == Operand::Kind::vector) {  // a parameter for each component
      list.insert(list.end(), operand.elements.begin(), operand.elements.end());
    } else {
      list.push_back(std::move(operand));
    }
  } while (context_.accept(','));
  context_.expect(')', "after the list of a call");
  return list;
}

void InstructionParser::parse_call(Instruction& instruction) {
  Call call;
  if (context_.at('(')) {
    call.returns = parse_call_list();
    context_.expect(',', "after what a call returns");
  }
  call.callee = operands_.parse();
  const bool direct = call.callee.kind == Operand::Kind::symbol &&
                      call.callee.symbol.kind == SymbolKind::function && call.callee.offset == 0;
  const bool pointer = call.callee.kind == Operand::Kind::reg && !call.callee.negated &&
                       bit_width(scopes_.type(call.callee.reg)) == 64;
  if (!direct && !pointer) {
    fail(instruction.line, "a call must name a function or a register of 64 bits");
  }
  while (context_.accept(',')) {
    if (context_.at('(')) {
      call.arguments = parse_call_list();
      continue;
    }
    const Token word = context_.expect_name("a .callprototype or .calltargets");
    const NameEntry* entry = scopes_.find(word.text);
    if (entry != nullptr && entry->kind == NameEntry::Kind::prototype) {
      call.prototype = entry->index;
    } else if (entry != nullptr && entry->kind == NameEntry::Kind::call_targets) {
      call.targets = entry->index;
    } else {
      fail(word.line, "{} is not a .callprototype or .calltargets declared above",
           quoted(word.text));
    }
  }
  check_callee(call, instruction.line);
  instruction.detail = static_cast<std::uint32_t>(function_.calls.size());
  function_.calls.push_back(std::move(call));
}

void InstructionParser::check_callee(const Call& call, std::uint32_t line) const {
  const std::vector<Parameter>* returns = nullptr;
  const std::vector<Parameter>* parameters = nullptr;
  if (call.callee.kind == Operand::Kind::symbol) {
    const Function& callee = context_.module.functions[call.callee.symbol.index];
    returns = &callee.returns;
    parameters = &callee.parameters;
  } else if (call.prototype != no_index) {
    returns = &function_.prototypes[call.prototype].returns;
    parameters = &function_.prototypes[call.prototype].parameters;
  } else if (call.targets == no_index) {
    fail(line, "a call through a register needs a .callprototype or .calltargets");
  }
  const auto is_storage = [this](const Operand& operand) {
    return operand.symbol.kind == SymbolKind::return_parameter ||
           (operand.symbol.kind == SymbolKind::local_variable &&
            function_.variables[operand.symbol.index].space == Space::param);
  };
  const auto is_whole = [](const Operand& operand) {
    return operand.kind == Operand::Kind::reg && !operand.negated &&
           operand.selector == Operand::Selector::none;
  };
  for (const Operand& operand : call.returns) {
    if (!is_whole(operand) && !is_storage(operand)) {
      fail(line, "a call returns into registers or .param variables");
    }
  }
  for (const Operand& operand : call.arguments) {
    if (!is_whole(operand) && operand.kind != Operand::Kind::symbol &&
        operand.kind != Operand::Kind::immediate) {
      fail(line, "a call passes registers, .param variables or constants");
    }
  }
  if (parameters != nullptr) check_call(function_, call, *returns, *parameters, line);
}

/// Keeps the text up to the semicolon, with single spaces where the text had any.
void InstructionParser::take_unknown(std::string_view spelling, Instruction& instruction) {
  std::string text(spelling);
  for (int braces = 0;;) {
    const Token& token = context_.token();
    braces += context_.at('{') ? 1 : context_.at('}') ? -1 : 0;
    if (token.kind == Token::Kind::end || braces < 0) {  // the brace of the scope around it
      context_.unexpected(fmt::format("';' after {}", quoted(spelling)));
    }
    if (context_.accept(';')) break;
    if (token.spaced) text += ' ';
    const bool string = token.kind == Token::Kind::string;
    text += string ? fmt::format("\"{}\"", token.text) : std::string(token.text);
    context_.lexer.next();
  }
  instruction.detail = static_cast<std::uint32_t>(function_.unknown_texts.size());
  function_.unknown_texts.push_back(std::move(text));
}

void InstructionParser::resolve_labels() {
  std::vector<std::uint32_t> resolved;
  try {
    resolved = scopes_.resolve_labels();
  } catch (const Failure& failure) {
    context_.diagnostics.add(failure);
    return;  // the module will not be used
  }
  for (Instruction& instruction : function_.instructions) {
    for (Operand& operand : instruction.operands) {
      if (operand.kind == Operand::Kind::label) operand.label = resolved[operand.label];
    }
  }
  for (std::vector<std::uint32_t>& targets : function_.branch_targets) {
    for (std::uint32_t& target : targets) target = resolved[target];
  }
}

}  // namespace tilescope::ptx

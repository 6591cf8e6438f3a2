#include "ptx/operand_parser.hpp"

#include <algorithm>

#include "ptx/constant_expression.hpp"
#include "ptx/special_registers.hpp"

namespace tilescope::ptx {
namespace {

using Kind = Operand::Kind;

/// wgmma names up to 128 registers at once; no program has more.
constexpr std::size_t most_elements = 256;
/// `[tensor, {x, y}]` holds a vector in an address; no operand nests deeper.
constexpr int deepest_operand = 2;

bool begins_name(char c) {
  return c == '%' || c == '_' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

Operand register_operand(std::uint32_t index) {
  Operand operand;
  operand.kind = Kind::reg;
  operand.reg = index;
  return operand;
}

Operand symbol_operand(SymbolKind kind, std::uint32_t index) {
  Operand operand;
  operand.kind = Kind::symbol;
  operand.symbol = {kind, index};
  return operand;
}

/// 0 to 3 for .x .y .z .w (or .r .g .b .a); 4 for anything else.
unsigned component(std::string_view suffix) {
  if (suffix.size() != 1) return 4;
  const std::size_t at = std::string_view("xyzwrgba").find(suffix[0]);
  return at == std::string_view::npos ? 4 : static_cast<unsigned>(at % 4);
}

/// Sets the selector that `suffix` names: `b2`, `h10`.
void select(std::string_view suffix, Operand& operand) {
  using Selector = Operand::Selector;
  constexpr std::string_view names[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
  for (unsigned i = 0; i < 6; ++i) {
    if (names[i] == suffix) operand.selector = static_cast<Selector>(i + 1);
  }
  if (operand.selector != Selector::none || suffix.size() < 2) return;
  const bool bytes = suffix[0] == 'b';
  const std::size_t most = bytes ? 4 : 2;
  const std::string_view digits = suffix.substr(1);
  if ((!bytes && suffix[0] != 'h') || digits.size() > most) return;
  for (const char digit : digits) {
    if (digit < '0' || digit >= (bytes ? '8' : '4')) return;
    operand.bits = operand.bits << 4 | static_cast<std::uint64_t>(digit - '0');
  }
  operand.bits |= digits.size() << 16;
  operand.selector = bytes ? Selector::bytes : Selector::halves;
}

bool is_any(const Operand& operand, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), operand.kind) != kinds.end();
}

}  // namespace

Operand OperandParser::parse_constant_operand() {
  const Number number = parse_constant(context_.lexer);
  Operand operand;
  operand.kind = Kind::immediate;
  operand.literal = number.literal;
  operand.bits = number.bits;
  return operand;
}

std::uint64_t OperandParser::element_size(const Symbol& symbol) const {
  if (symbol.kind != SymbolKind::variable) return 1;
  const Variable& variable = context_.module.variables[symbol.index];
  return std::uint64_t{byte_size(variable.type)} * variable.vector;
}

/// `+ constant` or `- constant` behind a base, or `[index]` behind an array.
void OperandParser::parse_offset(Operand& operand) {
  if (context_.accept('+')) {
    operand.offset = static_cast<std::int64_t>(parse_integer_constant(context_.lexer));
  } else if (context_.at('-')) {
    operand.offset = static_cast<std::int64_t>(parse_integer_constant(context_.lexer));
  } else if (operand.kind == Kind::symbol && context_.accept('[')) {
    const std::uint64_t index = parse_integer_constant(context_.lexer);
    operand.offset = static_cast<std::int64_t>(index * element_size(operand.symbol));
    context_.expect(']', "after the index of an array");
  }
}

Operand OperandParser::named(NameEntry& entry, std::string_view base, std::string_view suffix,
                             const Token& token) {
  switch (entry.kind) {
    case NameEntry::Kind::variable:
      return symbol_operand(SymbolKind::local_variable, entry.index);
    case NameEntry::Kind::module_variable:
      return symbol_operand(SymbolKind::variable, entry.index);
    case NameEntry::Kind::parameter:
      return symbol_operand(SymbolKind::parameter, entry.index);
    case NameEntry::Kind::return_parameter:
      return symbol_operand(SymbolKind::return_parameter, entry.index);
    case NameEntry::Kind::reg:
      break;
    default:
      fail(token.line, "{} cannot be an operand here", quoted(token.text));
  }
  if (entry.vector > 1 && suffix.empty()) {
    Operand operand;
    operand.kind = Kind::vector;
    for (unsigned i = 0; i < entry.vector; ++i) {
      operand.elements.push_back(register_operand(scopes_.component(base, entry, i)));
    }
    return operand;
  }
  if (entry.vector > 1) {
    const unsigned which = component(suffix);
    if (which < entry.vector) return register_operand(scopes_.component(base, entry, which));
  } else {
    Operand operand = register_operand(entry.index);
    select(suffix, operand);
    if (suffix.empty() || operand.selector != Operand::Selector::none) return operand;
  }
  fail(token.line, "the register {} has no part '.{}'", quoted(base), suffix);
}

Operand OperandParser::parse_name() {
  const Token token = context_.lexer.next();
  const std::size_t dot = token.text.find('.');
  const std::string_view base = token.text.substr(0, dot);
  const std::string_view suffix =
      dot == std::string_view::npos ? std::string_view() : token.text.substr(dot + 1);
  if (NameEntry* entry = scopes_.find(base)) return named(*entry, base, suffix, token);
  if (auto special = special_register(token.text)) return *special;
  const auto symbol = context_.symbols.find(token.text);
  if (symbol == context_.symbols.end()) {
    fail(token.line, "{} is not declared", quoted(token.text));
  }
  return symbol_operand(symbol->second.kind, symbol->second.index);
}

Operand OperandParser::parse_negated() {
  const Token sign = context_.lexer.next();
  Operand operand = parse_name();
  if (operand.kind != Kind::reg) {
    fail(sign.line, "'{}' must stand before a register or a constant", sign.text);
  }
  operand.negated = true;
  return operand;
}

Operand OperandParser::parse_address(int depth) {
  const std::uint32_t line = context_.token().line;
  context_.lexer.next();
  Operand operand;
  if (context_.token().kind == Token::Kind::word && !context_.at("WARP_SZ")) {
    operand = parse_name();
    if (!is_any(operand, {Kind::reg, Kind::symbol})) {
      fail(line, "an address must begin with a register, a variable or a number");
    }
    parse_offset(operand);
  } else {
    operand.offset = static_cast<std::int64_t>(parse_integer_constant(context_.lexer));
  }
  operand.kind = Kind::address;
  while (context_.accept(',')) {
    if (operand.elements.size() == most_elements) fail(line, "an address has too many parts");
    operand.elements.push_back(parse(depth + 1));
  }
  context_.expect(']', "to close an address");
  return operand;
}

Operand OperandParser::parse_vector(int depth) {
  const std::uint32_t line = context_.token().line;
  context_.lexer.next();
  Operand operand;
  operand.kind = Kind::vector;
  do {
    if (operand.elements.size() == most_elements) {
      fail(line, "a vector has more than {} elements", most_elements);
    }
    operand.elements.push_back(parse(depth + 1));
  } while (context_.accept(','));
  context_.expect('}', "to close a vector");
  // `{ %r1 }` as an operand is the register; in an address it is a list of one coordinate.
  if (depth == 0 && operand.elements.size() == 1) return Operand(operand.elements.front());
  return operand;
}

Operand OperandParser::parse(int depth) {
  const Token& token = context_.token();
  if (depth > deepest_operand) fail(token.line, "operands are nested too deep");
  if (context_.at('[')) return parse_address(depth);
  if (context_.at('{')) {
    Operand vector = parse_vector(depth);
    return depth == 0 && context_.accept('|') ? parse_pair(std::move(vector)) : vector;
  }
  if ((context_.at('!') || context_.at('-')) && begins_name(context_.lexer.peek())) {
    return parse_negated();
  }
  if (token.kind != Token::Kind::word || context_.at("WARP_SZ")) return parse_constant_operand();

  Operand operand;
  if (context_.at("_")) {
    context_.lexer.next();
  } else {
    operand = parse_name();
    if (operand.kind == Kind::symbol) parse_offset(operand);
  }
  if (!is_any(operand, {Kind::reg, Kind::sink}) || !context_.accept('|')) return operand;
  return parse_pair(std::move(operand));
}

Operand OperandParser::parse_pair(Operand first) {
  Operand pair;
  pair.kind = Kind::pair;
  pair.elements.push_back(std::move(first));
  pair.elements.push_back(context_.accept("_") ? Operand{} : parse_name());
  return pair;
}

std::uint32_t OperandParser::parse_guard() {
  const std::uint32_t line = context_.token().line;
  if (context_.token().kind != Token::Kind::word) context_.unexpected("a predicate after '@'");
  const Operand operand = parse_name();
  if (operand.kind != Kind::reg || scopes_.type(operand.reg) != Type::pred) {
    fail(line, "what follows '@' must be a register of type .pred");
  }
  return operand.reg;
}

}  // namespace tilescope::ptx

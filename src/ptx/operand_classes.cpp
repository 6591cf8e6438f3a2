#include "ptx/operand_classes.hpp"

#include <algorithm>

#include "ptx/diagnostics.hpp"

namespace tilescope::ptx {
namespace {

using Kind = Operand::Kind;

/// The bits that a class requires; 0 is a predicate.
struct Width {
  unsigned bits = 0;
  bool or_more = false;  ///< wider numbers fit too
  bool any = false;      ///< every number fits
};

/// One letter of OpcodeInfo::operands for an instruction with certain modifiers.
struct Class {
  char letter;
  const Function& function;
  const Modifiers& modifiers;

  bool is(std::string_view letters) const { return letters.find(letter) != letters.npos; }
  bool writes() const { return letter >= 'A' && letter <= 'Z'; }
  Width width() const;
  bool fits(const Operand& operand) const;
  std::string expected() const;

 private:
  bool fits_number(const Operand& operand, Width wanted) const;
  bool fits_elements(const Operand& vector) const;
};

Width Class::width() const {
  const auto of = [](Type type) {
    return Width{bit_width(type), false, type != Type::pred && bit_width(type) == 0};
  };
  switch (letter) {
    case 'X':
    case 'x': {
      Width width = of(modifiers.type());
      if (modifiers.part == Part::wide) width.bits *= 2;
      return width;
    }
    case 'T':
    case 't':
      return of(modifiers.source_type());
    case 'L':
      return {bit_width(modifiers.type()), true};
    case 'l':
      return {bit_width(modifiers.source_type()), true};
    case 'W':
    case 'w':
    case 'J':
    case 'Y':
    case 'y':
      return {32};
    case 'Q':
    case 'q':
      return {64};
    case 'P':
    case 'p':
      return {0};
    case 'n':
    case 'm':
    case 'o':
    case 'G':
    case 'g':
    case 'i':
      return {0, false, true};
    case 'F':
    case 'f':
      return {32, true};
    default:
      return of(modifiers.type());
  }
}

/// An operand that is no vector, pair or address.
bool Class::fits_number(const Operand& operand, Width wanted) const {
  const bool predicate = wanted.bits == 0 && !wanted.any;
  switch (operand.kind) {
    case Kind::sink:
      return writes();
    case Kind::reg: {
      const Type type = function.registers[operand.reg].type;
      if (operand.selector != Operand::Selector::none && !is("Yy")) return false;
      if (operand.negated && (writes() || (type != Type::pred && !is("y")))) return false;
      if (type == Type::pred) return predicate || is("oGg");
      if (predicate) return false;
      const unsigned bits = bit_width(type);
      return wanted.any || (wanted.or_more ? bits >= wanted.bits : bits == wanted.bits);
    }
    case Kind::immediate:
      return !writes();
    case Kind::special:
      if (operand.special == SpecialRegister::is_explicit_cluster) return !writes() && predicate;
      [[fallthrough]];
    case Kind::symbol:
      return !writes() && !predicate && wanted.bits <= 64;
    default:
      return false;
  }
}

bool Class::fits_elements(const Operand& vector) const {
  const std::size_t count = vector.elements.size();
  Width wanted = width();
  if (is("LlEe") || (is("Vv") && modifiers.vector > 1)) {
    if (count != modifiers.vector) return false;
  } else if (is("Vv")) {
    if (wanted.bits % count != 0 || wanted.bits == 0) return false;
    wanted.bits /= static_cast<unsigned>(count);
  } else if (!is("FfGg")) {
    return false;
  }
  return std::all_of(vector.elements.begin(), vector.elements.end(),
                     [&](const Operand& element) { return fits_number(element, wanted); });
}

bool Class::fits(const Operand& operand) const {
  switch (operand.kind) {
    case Kind::vector:
      return fits_elements(operand);
    case Kind::pair: {
      if (!is("JPG")) return false;
      const Operand& first = operand.elements[0];
      const Operand& second = operand.elements[1];
      const bool fits_first = first.kind == Kind::vector ? is("G") && fits_elements(first)
                                                         : fits_number(first, width());
      return fits_first && (second.kind == Kind::sink || fits_number(second, {0}));
    }
    case Kind::address: {
      if (!is("akmgG") || (!operand.elements.empty() && !is("kmgG"))) return false;
      if (operand.negated || operand.selector != Operand::Selector::none) return false;
      if (operand.reg == no_index) return true;
      const unsigned bits = bit_width(function.registers[operand.reg].type);
      return bits == 32 || bits == 64;
    }
    case Kind::label:
      return is("b");
    default: {
      const bool vector = is("LlEeVv") && modifiers.vector > 1;
      const bool other = is("akb") || (is("i") && operand.kind != Kind::immediate);
      return !vector && !other && fits_number(operand, width());
    }
  }
}

std::string Class::expected() const {
  switch (letter) {
    case 'a':
    case 'k':
      return "an address in brackets, its base a register of 32 or 64 bits";
    case 'm':
      return "an address in brackets or a number";
    case 'i':
      return "an integer constant";
    case 'b':
      return "a label";
    case 'o':
      return "a number or a predicate";
    case 'F':
      return "a register of 32 bits or more to write, or a vector of such";
    case 'f':
      return "a number of 32 bits or more, or a vector of such";
    default:
      break;
  }
  const Width wanted = width();
  std::string text = wanted.any         ? "a number"
                     : wanted.bits == 0 ? "a predicate"
                                        : fmt::format("a number of {} bits", wanted.bits);
  if (wanted.or_more) text += " or more";
  if (is("LlEeVv") && modifiers.vector > 1) {
    text = fmt::format("a vector of {} elements, each {}", modifiers.vector, text);
  }
  return writes() ? "a register to write: " + text : text;
}

std::string described(const Function& function, const Operand& operand) {
  const auto reg = [&] {
    const Register& named = function.registers[operand.reg];
    return fmt::format("{} of type .{}", named.name, name(named.type));
  };
  switch (operand.kind) {
    case Kind::sink:
      return "'_'";
    case Kind::reg:
      return fmt::format("{}{}{}", operand.negated ? "the negated " : "",
                         operand.selector != Operand::Selector::none ? "a part of " : "", reg());
    case Kind::immediate:
      return "a constant";
    case Kind::special:
      return fmt::format("%{}", name(operand.special));
    case Kind::symbol:
      return "the address of a variable or function";
    case Kind::address:
      return operand.reg == no_index ? "an address" : fmt::format("an address, its base {}", reg());
    case Kind::vector:
      return fmt::format("a vector of {} elements", operand.elements.size());
    case Kind::pair:
      return "a pair";
    case Kind::label:
      return "a label";
  }
  return "";
}

/// The letters of an operation, split: "Dw[w]p" has three or four operands.
struct Letters {
  std::string_view text;
  std::size_t open, close;  ///< the positions of the brackets, if there are any
  std::size_t least, most;

  explicit Letters(std::string_view letters)
      : text(letters),
        open(std::min(letters.find('['), letters.size())),
        close(std::min(letters.find(']'), letters.size())),
        least(letters.size() - (open == close ? 0 : close - open + 1)),
        most(letters.size() - (open == close ? 0 : 2)) {}

  /// The letter of operand `i` of `count`.
  char at(std::size_t i, std::size_t count) const {
    if (i < open) return text[i];
    const std::size_t bracketed = count - least;
    return i < open + bracketed ? text[i + 1] : text[close + 1 + i - open - bracketed];
  }
};

/// A register passes a number of a parameter's width (less than 32 bits are 32), or a predicate.
bool passes(const Function& function, const Operand& operand, const Parameter& parameter) {
  if (operand.kind == Kind::immediate) return !parameter.is_array;
  if (operand.kind != Kind::reg) return parameter.type != Type::pred;
  const Type type = function.registers[operand.reg].type;
  if (parameter.is_array || parameter.vector != 1) return false;
  if (type == Type::pred || parameter.type == Type::pred) return type == parameter.type;
  return std::max(32u, bit_width(type)) == std::max(32u, bit_width(parameter.type));
}

}  // namespace

std::string_view operand_letters(Opcode opcode, const Modifiers& modifiers) {
  const OpcodeInfo& facts = info(opcode);
  const bool other = !facts.other_form.empty() &&
                     (modifiers.barrier == BarrierKind::red || modifiers.reduce == ReduceOp::cas ||
                      modifiers.has(Flag::parity));
  return other ? facts.other_form : facts.operands;
}

Type operand_type(const Instruction& instruction, std::size_t i) {
  const Modifiers& m = instruction.modifiers;
  const Letters letters(operand_letters(instruction.opcode, m));
  switch (letters.at(i, instruction.operands.size())) {
    case 'T':
    case 't':
    case 'l':
      return m.source_type();
    case 'X':
    case 'x':
      if (m.part != Part::wide) return m.type();
      return bit_width(m.type()) == 32 ? Type::b64 : Type::b32;
    case 'W':
    case 'w':
    case 'J':
    case 'Y':
    case 'y':
      return Type::b32;
    case 'Q':
    case 'q':
      return Type::b64;
    case 'P':
    case 'p':
      return Type::pred;
    default:
      return m.type();
  }
}

void check_operands(const Function& function, const Instruction& instruction) {
  const Letters letters(operand_letters(instruction.opcode, instruction.modifiers));
  const std::size_t count = instruction.operands.size();
  if (count < letters.least || count > letters.most) {
    const std::string range = letters.least == letters.most
                                  ? fmt::format("{}", letters.least)
                                  : fmt::format("{} to {}", letters.least, letters.most);
    fail(instruction.line, "'{}' takes {} operand{}, this has {}", name(instruction.opcode), range,
         range == "1" ? "" : "s", count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Class wanted{letters.at(i, count), function, instruction.modifiers};
    const Operand& operand = instruction.operands[i];
    if (wanted.fits(operand)) continue;
    fail(instruction.line, "operand {} of '{}' must be {}, not {}", i + 1, name(instruction.opcode),
         wanted.expected(), described(function, operand));
  }
}

void check_call(const Function& function, const Call& call, const std::vector<Parameter>& returns,
                const std::vector<Parameter>& parameters, std::uint32_t line) {
  const bool variadic = !parameters.empty() && parameters.back().unsized;
  const bool enough = variadic ? call.arguments.size() + 1 >= parameters.size()
                               : call.arguments.size() == parameters.size();
  if (!enough || call.returns.size() != returns.size()) {
    fail(line, "a call passes {} and returns {} values, its function takes {} and returns {}",
         call.arguments.size(), call.returns.size(), parameters.size(), returns.size());
  }
  const auto check = [&](const std::vector<Operand>& list, const std::vector<Parameter>& formal,
                         std::string_view what) {
    for (std::size_t i = 0; i < std::min(list.size(), formal.size()); ++i) {
      if (formal[i].unsized || passes(function, list[i], formal[i])) continue;
      fail(line, "{} {} of a call must be .{} as the function's '{}', not {}", what, i + 1,
           name(formal[i].type), formal[i].name, described(function, list[i]));
    }
  };
  check(call.returns, returns, "result");
  check(call.arguments, parameters, "argument");
}

}  // namespace tilescope::ptx

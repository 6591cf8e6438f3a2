#include "ptx/constant_expression.hpp"

#include <array>
#include <limits>
#include <string_view>

#include "ptx/diagnostics.hpp"

namespace tilescope::ptx {
namespace {

/// Deeper expressions are refused before they exhaust the stack.
constexpr int deepest_expression = 64;

struct Operator {
  std::string_view text;
  int precedence;
};

// Longer ones first, so that `<<` is not read as `<`.
// clang-format off
constexpr std::array<Operator, 18> operators = {{
    {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&&", 2}, {"||", 1}, {"*", 10},
    {"/", 10}, {"%", 10}, {"+", 9}, {"-", 9}, {"<", 7}, {">", 7}, {"&", 5}, {"^", 4}, {"|", 3}
}};
// clang-format on

Number integer(std::uint64_t bits, bool is_unsigned) {
  return {Literal::integer, is_unsigned, bits};
}
Number truth(bool value) {
  return integer(value ? 1 : 0, false);
}

class Reader {
 public:
  explicit Reader(Lexer& lexer) : lexer_(lexer) {}

  Number ternary(int depth) {
    Number condition = binary(1, depth);
    if (!lexer_.current().is('?')) return condition;
    need_integer(condition);
    lexer_.next();
    const Number yes = ternary(deeper(depth));
    if (!lexer_.current().is(':')) {
      fail(lexer_.current().line, "a '?' in an expression needs its ':'");
    }
    lexer_.next();
    const Number no = ternary(deeper(depth));
    return condition.bits != 0 ? yes : no;
  }

 private:
  int deeper(int depth) const {
    if (depth >= deepest_expression) {
      fail(lexer_.current().line, "an expression is nested more than {} deep", deepest_expression);
    }
    return depth + 1;
  }

  void need_integer(const Number& number) const {
    if (number.literal != Literal::integer) {
      fail(lexer_.current().line, "a floating point constant cannot take part in an expression");
    }
  }

  /// The operator at the current token. Those of two characters arrive as two tokens.
  const Operator* current_operator() const {
    const Token& token = lexer_.current();
    if (token.kind != Token::Kind::punctuation) return nullptr;
    const char second = lexer_.peek();
    for (const Operator& candidate : operators) {
      if (candidate.text[0] != token.text[0]) continue;
      if (candidate.text.size() == 1 || candidate.text[1] == second) return &candidate;
    }
    return nullptr;
  }

  Number binary(int lowest, int depth) {
    Number left = unary(depth);
    for (;;) {
      const Operator* found = current_operator();
      if (found == nullptr || found->precedence < lowest) return left;
      const std::uint32_t line = lexer_.current().line;
      for (std::size_t i = 0; i < found->text.size(); ++i) lexer_.next();
      const Number right = binary(found->precedence + 1, deeper(depth));
      need_integer(left);
      need_integer(right);
      left = apply(found->text, left, right, line);
    }
  }

  static Number divide(bool remainder, const Number& a, const Number& b, bool is_unsigned,
                       std::uint32_t line) {
    if (b.bits == 0) fail(line, "a constant expression divides by zero");
    if (is_unsigned) return integer(remainder ? a.bits % b.bits : a.bits / b.bits, true);
    const auto x = static_cast<std::int64_t>(a.bits);
    const auto y = static_cast<std::int64_t>(b.bits);
    if (y == -1) return integer(remainder ? 0 : 0 - a.bits, false);  // the least value overflows
    return integer(static_cast<std::uint64_t>(remainder ? x % y : x / y), false);
  }

  static Number shift(bool left, const Number& a, std::uint64_t amount) {
    if (left) return integer(amount < 64 ? a.bits << amount : 0, a.is_unsigned);
    if (a.is_unsigned) return integer(amount < 64 ? a.bits >> amount : 0, true);
    const auto value = static_cast<std::int64_t>(a.bits);
    return integer(static_cast<std::uint64_t>(value >> (amount < 64 ? amount : 63)), false);
  }

  static Number apply(std::string_view op, const Number& a, const Number& b, std::uint32_t line) {
    const bool is_unsigned = a.is_unsigned || b.is_unsigned;
    const bool less = is_unsigned
                          ? a.bits < b.bits
                          : static_cast<std::int64_t>(a.bits) < static_cast<std::int64_t>(b.bits);
    const bool equal = a.bits == b.bits;
    if (op == "<<" || op == ">>") return shift(op == "<<", a, b.bits);
    if (op == "<=") return truth(less || equal);
    if (op == ">=") return truth(!less);
    if (op == "==") return truth(equal);
    if (op == "!=") return truth(!equal);
    if (op == "&&") return truth(a.bits != 0 && b.bits != 0);
    if (op == "||") return truth(a.bits != 0 || b.bits != 0);
    if (op == "<") return truth(less);
    if (op == ">") return truth(!less && !equal);
    if (op == "/" || op == "%") return divide(op == "%", a, b, is_unsigned, line);
    switch (op[0]) {
      case '*':
        return integer(a.bits * b.bits, is_unsigned);
      case '+':
        return integer(a.bits + b.bits, is_unsigned);
      case '-':
        return integer(a.bits - b.bits, is_unsigned);
      case '&':
        return integer(a.bits & b.bits, is_unsigned);
      case '^':
        return integer(a.bits ^ b.bits, is_unsigned);
      default:
        return integer(a.bits | b.bits, is_unsigned);
    }
  }

  Number negated(Number value) {
    switch (value.literal) {
      case Literal::integer:
        value.bits = 0 - value.bits;
        break;
      case Literal::single:
        value.bits ^= std::uint64_t{1} << 31;
        break;
      case Literal::real:
        value.bits ^= std::uint64_t{1} << 63;
        break;
    }
    return value;
  }

  Number unary(int depth) {
    const Token token = lexer_.current();
    if (token.kind == Token::Kind::punctuation) {
      switch (token.text.front()) {
        case '-':
          lexer_.next();
          return negated(unary(deeper(depth)));
        case '+':
          lexer_.next();
          return unary(deeper(depth));
        case '!': {
          lexer_.next();
          const Number value = unary(deeper(depth));
          need_integer(value);
          return truth(value.bits == 0);
        }
        case '~': {
          lexer_.next();
          const Number value = unary(deeper(depth));
          need_integer(value);
          return integer(~value.bits, value.is_unsigned);
        }
        case '(':
          return parenthesis(depth);
        default:
          break;
      }
    }
    if (token.kind == Token::Kind::number) {
      const auto number = parse_number(token.text);
      if (!number) fail(token.line, "{} is not a number that PTX knows", quoted(token.text));
      lexer_.next();
      return *number;
    }
    if (token.is("WARP_SZ")) {
      lexer_.next();
      return integer(32, false);
    }
    fail(token.line, "expected a constant, found {}",
         token.kind == Token::Kind::end ? "the end of the text" : quoted(token.text));
  }

  Number parenthesis(int depth) {
    lexer_.next();
    const Token cast = lexer_.current();
    if (cast.is(".s64") || cast.is(".u64")) {
      lexer_.next();
      close(cast.line);
      const Number value = unary(deeper(depth));
      need_integer(value);
      return integer(value.bits, cast.is(".u64"));
    }
    const Number value = ternary(deeper(depth));
    close(cast.line);
    return value;
  }

  void close(std::uint32_t line) {
    if (!lexer_.current().is(')')) fail(line, "a '(' in an expression is not closed");
    lexer_.next();
  }

  Lexer& lexer_;
};

}  // namespace

Number parse_constant(Lexer& lexer) {
  return Reader(lexer).ternary(0);
}

std::uint64_t parse_integer_constant(Lexer& lexer) {
  const std::uint32_t line = lexer.current().line;
  const Number number = parse_constant(lexer);
  if (number.literal != Literal::integer) fail(line, "an integer is needed here");
  return number.bits;
}

}  // namespace tilescope::ptx

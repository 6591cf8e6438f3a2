#include "expression/expression.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "expression/binary_operators.hpp"

namespace tilescope::expression {
namespace {

constexpr int tightest = 11;  // binds tighter than every binary operator
constexpr std::size_t most_nodes = 100'000;

[[noreturn]] void fail(const std::string& text, std::string_view why) {
  throw usage_error("expression \"{}\" {}", text, why);
}

// Substitutes recursively; `active` are the names being replaced, to find circles.
class Substitution {
 public:
  explicit Substitution(const Definitions& definitions) : definitions_(definitions) {}

  std::size_t copy(const Expression& from, std::size_t index, Expression& to) {
    const Node& node = from.nodes()[index];
    if (node.kind == Kind::variable) {
      const auto found = definitions_.find(node.text);
      if (found != definitions_.end()) return replace(found->first, found->second, to);
    }
    Node result{node.kind, node.text, node.value, {}};
    for (const std::size_t operand : node.operands) {
      result.operands.push_back(copy(from, operand, to));
    }
    return to.add(std::move(result));
  }

 private:
  std::size_t replace(const std::string& name, const Expression& meaning, Expression& to) {
    if (std::find(active_.begin(), active_.end(), name) != active_.end()) {
      throw usage_error("the definition of {} refers to itself: {}", name, meaning.text());
    }
    active_.push_back(name);
    const std::size_t result = copy(meaning, meaning.root(), to);
    active_.pop_back();
    return result;
  }

  const Definitions& definitions_;
  std::vector<std::string> active_;
};

}  // namespace

Expression Expression::number(std::int64_t value) {
  Expression result;
  result.add({Kind::number, {}, value, {}});
  return result;
}

std::size_t Expression::add(Node node) {
  if (nodes_.size() >= most_nodes) {
    throw usage_error("an expression grows beyond 100,000 terms; simplify its definitions");
  }
  if (node.kind == Kind::variable) {
    std::ptrdiff_t known = slot(node.text);
    if (known < 0) {
      known = static_cast<std::ptrdiff_t>(variables_.size());
      variables_.push_back(node.text);
    }
    node.value = known;
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

std::size_t Expression::add_copy(const Expression& other, std::size_t node) {
  static const Definitions none;
  return Substitution(none).copy(other, node, *this);
}

std::ptrdiff_t Expression::slot(std::string_view variable) const {
  const auto found = std::find(variables_.begin(), variables_.end(), variable);
  return found == variables_.end() ? -1 : found - variables_.begin();
}

Expression Expression::substitute(const Definitions& definitions) const {
  Expression result;
  Substitution(definitions).copy(*this, root(), result);
  return result;
}

bool Expression::reads_memory() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.kind == Kind::subscript; });
}

std::int64_t Expression::evaluate(std::span<const std::int64_t> slots) const {
  return value_of(root(), slots);
}

std::int64_t Expression::evaluate(
    const std::map<std::string, std::int64_t, std::less<>>& values) const {
  std::vector<std::int64_t> slots;
  for (const std::string& name : variables_) {
    const auto found = values.find(name);
    if (found == values.end()) fail(text(), fmt::format("needs a value for {}", name));
    slots.push_back(found->second);
  }
  return evaluate(slots);
}

std::int64_t Expression::value_of(std::size_t index, std::span<const std::int64_t> slots) const {
  const Node& node = nodes_[index];
  const auto operand = [&](std::size_t i) { return value_of(node.operands[i], slots); };
  switch (node.kind) {
    case Kind::number:
      return node.value;
    case Kind::variable:
      return slots[static_cast<std::size_t>(node.value)];
    case Kind::conditional:
      return operand(0) != 0 ? operand(1) : operand(2);
    case Kind::call: {
      const std::int64_t a = operand(0);
      if (node.text == "abs") {
        if (a == INT64_MIN) fail(text(), "overflows 64 bits");
        return a < 0 ? -a : a;
      }
      return node.text == "min" ? std::min(a, operand(1)) : std::max(a, operand(1));
    }
    case Kind::subscript:
      fail(text(), fmt::format("reads {}[...], whose value is data and not known here", node.text));
    case Kind::unary: {
      const std::int64_t a = operand(0);
      if (node.text == "!") return a == 0 ? 1 : 0;
      if (node.text == "~") return ~a;
      if (a == INT64_MIN) fail(text(), "overflows 64 bits");
      return -a;
    }
    case Kind::binary:
      break;
  }
  const char first = node.text[0];
  const bool twice = node.text.size() == 2;
  const std::int64_t a = operand(0);
  if (twice && first == '&') return a != 0 && operand(1) != 0 ? 1 : 0;
  if (twice && first == '|') return a != 0 || operand(1) != 0 ? 1 : 0;
  const std::int64_t b = operand(1);
  std::int64_t result = 0;
  bool overflow = false;
  switch (first) {
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case '&':
      return a & b;
    case '=':
      return a == b ? 1 : 0;
    case '!':
      return a != b ? 1 : 0;
    case '<':
    case '>':
      if (!twice) return (first == '<' ? a < b : a > b) ? 1 : 0;
      if (node.text[1] == '=') return (first == '<' ? a <= b : a >= b) ? 1 : 0;
      if (b < 0 || b > 62) fail(text(), fmt::format("shifts by {}; 0 to 62 are allowed", b));
      if (first == '>') return a >> b;
      overflow = __builtin_mul_overflow(a, std::int64_t{1} << b, &result);
      break;
    case '+':
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    default:  // '/' and '%'
      if (b == 0) fail(text(), "divides by zero");
      if (a == INT64_MIN && b == -1) fail(text(), "overflows 64 bits");
      return first == '/' ? a / b : a % b;
  }
  if (overflow) fail(text(), "overflows 64 bits");
  return result;
}

std::string Expression::text() const {
  return nodes_.empty() ? std::string() : text_of(root(), 0);
}

// `outer`: the binding strength of the operator around this node.
std::string Expression::text_of(std::size_t index, int outer) const {
  const Node& node = nodes_[index];
  const auto in_parentheses_if = [](bool needed, std::string inner) {
    return needed ? '(' + inner + ')' : inner;
  };
  switch (node.kind) {
    case Kind::number:
      return fmt::format("{}", node.value);
    case Kind::variable:
      return node.text;
    case Kind::unary:
      return in_parentheses_if(outer > tightest,
                               node.text + text_of(node.operands[0], tightest + 1));
    case Kind::binary: {
      const int level = precedence(node.text);
      return in_parentheses_if(outer > level,
                               fmt::format("{} {} {}", text_of(node.operands[0], level), node.text,
                                           text_of(node.operands[1], level + 1)));
    }
    case Kind::conditional:
      return in_parentheses_if(
          outer > 0, fmt::format("{} ? {} : {}", text_of(node.operands[0], 1),
                                 text_of(node.operands[1], 0), text_of(node.operands[2], 0)));
    case Kind::call:
    case Kind::subscript:
      break;
  }
  const bool is_call = node.kind == Kind::call;
  std::string inner;
  for (const std::size_t operand : node.operands) {
    if (!inner.empty()) inner += is_call ? ", " : "][";
    inner += text_of(operand, 0);
  }
  return fmt::format("{}{}{}{}", node.text, is_call ? '(' : '[', inner, is_call ? ')' : ']');
}

}  // namespace tilescope::expression

#include "compile/host_evaluator.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "compile/cpp_tokens.hpp"

namespace tilescope::compile {
namespace {

constexpr int most_nested_names = 32;  // names within names
const HostNumber zero = HostNumber::of(std::int64_t{0}), one = HostNumber::of(std::int64_t{1});

}  // namespace

std::optional<HostNumber> HostEvaluator::evaluate() {
  if (tokens_.empty() || depth_ > most_nested_names) return std::nullopt;
  try {
    const HostNumber value = conditional();
    return at_ == tokens_.size() ? std::optional(value) : std::nullopt;
  } catch (const Open&) {
    return std::nullopt;
  }
}

bool HostEvaluator::take(std::string_view text) {
  const bool found = is(text);
  at_ += found ? 1 : 0;
  return found;
}

void HostEvaluator::require(std::string_view text) {
  if (!take(text)) throw Open{};
}

/// Whether token i follows the one before without a blank.
bool HostEvaluator::joined(std::size_t i) const {
  return i < tokens_.size() && tokens_[i - 1].data() + tokens_[i - 1].size() == tokens_[i].data();
}

const HostEvaluator::Operator* HostEvaluator::binary_operator() const {
  static constexpr std::array<Operator, 18> operators = {{{"||", 1},
                                                          {"&&", 2},
                                                          {"==", 6},
                                                          {"!=", 6},
                                                          {"<=", 7},
                                                          {">=", 7},
                                                          {"<<", 8},
                                                          {">>", 8},
                                                          {"|", 3},
                                                          {"^", 4},
                                                          {"&", 5},
                                                          {"<", 7},
                                                          {">", 7},
                                                          {"+", 9},
                                                          {"-", 9},
                                                          {"*", 10},
                                                          {"/", 10},
                                                          {"%", 10}}};
  for (const Operator& op : operators) {
    if (!is(op.text.substr(0, 1))) continue;
    const bool second = at_ + 1 < tokens_.size() && tokens_[at_ + 1] == op.text.substr(1);
    if (op.text.size() == 1 || (second && joined(at_ + 1))) return &op;
  }
  return nullptr;
}

HostNumber HostEvaluator::conditional() {
  const HostNumber condition = binary(1);
  if (!take("?")) return condition;
  HostNumber yes = conditional();
  require(":");
  HostNumber no = conditional();
  HostNumber& chosen = condition.real != 0 ? yes : no;
  chosen.is_sure = chosen.is_sure && condition.is_sure;
  return chosen;
}

HostNumber HostEvaluator::binary(int least) {
  HostNumber left = unary();
  for (const Operator* op = binary_operator(); op != nullptr && op->precedence >= least;
       op = binary_operator()) {
    at_ += op->text.size();
    left = apply(op->text, left, binary(op->precedence + 1));
  }
  return left;
}

HostNumber HostEvaluator::apply(std::string_view op, const HostNumber& a, const HostNumber& b) {
  HostNumber result;
  const bool is_real = a.is_real || b.is_real;
  std::int64_t sum = 0;
  bool bad = false;
  const auto truth = [&](bool holds) { result = HostNumber::of(std::int64_t{holds}); };
  if (op == "||") {
    truth(a.real != 0 || b.real != 0);
  } else if (op == "&&") {
    truth(a.real != 0 && b.real != 0);
  } else if (op == "==" || op == "!=") {
    truth((is_real ? a.real == b.real : a.integer == b.integer) == (op == "=="));
  } else if (op == "<" || op == ">=") {
    truth((is_real ? a.real < b.real : a.integer < b.integer) == (op == "<"));
  } else if (op == ">" || op == "<=") {
    truth((is_real ? a.real > b.real : a.integer > b.integer) == (op == ">"));
  } else if (is_real) {
    bad = std::string_view("+-*/").find(op) == std::string_view::npos || (op == "/" && b.real == 0);
    result = HostNumber::of(op == "+"   ? a.real + b.real
                            : op == "-" ? a.real - b.real
                            : op == "*" ? a.real * b.real
                                        : a.real / (bad ? 1 : b.real));
    bad = bad || !(std::abs(result.real) < 9e18);
  } else if (op == "+" || op == "-" || op == "*") {
    bad = op == "+"   ? __builtin_add_overflow(a.integer, b.integer, &sum)
          : op == "-" ? __builtin_sub_overflow(a.integer, b.integer, &sum)
                      : __builtin_mul_overflow(a.integer, b.integer, &sum);
    result = HostNumber::of(sum);
  } else if (op == "/" || op == "%") {
    bad = b.integer == 0 || b.integer == -1;
    if (!bad) result = HostNumber::of(op == "/" ? a.integer / b.integer : a.integer % b.integer);
  } else if (op == "<<" || op == ">>") {
    bad = a.integer < 0 || b.integer < 0 || b.integer > 40 || a.integer > (1LL << 22U);
    if (!bad) result = HostNumber::of(op == "<<" ? a.integer << b.integer : a.integer >> b.integer);
  } else {
    result = HostNumber::of(op == "|"   ? a.integer | b.integer
                            : op == "&" ? a.integer & b.integer
                                        : a.integer ^ b.integer);
  }
  if (bad) throw Open{};
  result.is_sure = a.is_sure && b.is_sure;
  return result;
}

HostNumber HostEvaluator::converted(HostNumber value, const ElementType& type) {
  const bool is_sure = value.is_sure;
  if (type.is_real()) {
    value = HostNumber::of(type.bytes == 4 ? static_cast<float>(value.real) : value.real);
  } else {
    value = HostNumber::of(value.integer);
  }
  value.is_sure = is_sure;
  return value;
}

HostNumber HostEvaluator::unary() {
  if (take("+")) return unary();
  if (take("-")) return apply("-", zero, unary());
  if (take("!")) return apply("==", unary(), zero);
  if (take("~")) return apply("-", apply("-", zero, unary()), one);
  if (const auto type = cast_type()) return converted(unary(), *type);
  return primary();
}

/// (float) before an operand, static_cast<float>.
std::optional<ElementType> HostEvaluator::cast_type() {
  const bool is_named = is("static_cast");
  const std::size_t begin = at_ + (is_named ? 2 : 1);
  if (!is_named && !is("(")) return std::nullopt;
  std::size_t end = begin;
  while (end < tokens_.size() && is_word(tokens_[end])) ++end;
  if (end == begin || end >= tokens_.size() || tokens_[end] != (is_named ? ">" : ")")) {
    return std::nullopt;
  }
  const auto type = names_.type(Tokens(tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                                       tokens_.begin() + static_cast<std::ptrdiff_t>(end)));
  if (type) at_ = end + 1;
  return type;
}

HostNumber HostEvaluator::primary() {
  if (take("(")) {
    const HostNumber value = conditional();
    require(")");
    return value;
  }
  if (at_ >= tokens_.size()) throw Open{};
  if (is_word(tokens_[at_])) return name();
  std::string_view token = tokens_[at_++];
  if (token == "." && at_ < tokens_.size()) {  // .5
    HostNumber value = number("0." + std::string(tokens_[at_++]));
    return value;
  }
  return number(token);
}

HostNumber HostEvaluator::number(std::string_view token) const {
  std::string text(token);
  if (text.empty() || text[0] < '0' || text[0] > '9') throw Open{};
  std::erase(text, '\'');
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const bool is_real = !is_hexadecimal && text.find_first_of(".eEfF") != text.npos;
  while (std::string_view(is_real ? "fFlL" : "uUlL").find(text.back()) != std::string_view::npos) {
    text.pop_back();
  }
  const char* const end = text.data() + text.size();
  if (is_real) {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || !(std::abs(value) < 9e18)) throw Open{};
    return HostNumber::of(value);
  }
  const bool is_octal = !is_hexadecimal && text.size() > 1 && text[0] == '0';
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data() + (is_hexadecimal ? 2 : 0), end, value,
                                             is_hexadecimal ? 16
                                             : is_octal     ? 8
                                                            : 10);
  if (error != std::errc{} || stop != end) throw Open{};
  return HostNumber::of(value);
}

HostNumber HostEvaluator::name() {
  std::string_view word = tokens_[at_++];
  if (word == "std" && is(":")) {
    at_ += 2;
    if (at_ >= tokens_.size()) throw Open{};
    word = tokens_[at_++];
  }
  if (word == "sizeof") return size();
  if (word == "true" || word == "false") return word == "true" ? one : zero;
  if (is("(")) return call(word);
  std::string full(word);
  while (is(".") && at_ + 1 < tokens_.size()) {
    full += "." + std::string(tokens_[at_ + 1]);
    at_ += 2;
  }
  if (const auto argument = arguments_.find(word); argument != arguments_.end()) {
    if (full == word) return argument->second;
    throw Open{};
  }
  const auto value = names_.value_of(full, depth_ + 1);
  if (!value) throw Open{};
  return *value;
}

HostNumber HostEvaluator::call(std::string_view function) {
  require("(");
  std::vector<HostNumber> given;
  while (!is(")")) {
    given.push_back(conditional());
    if (!take(",")) break;
  }
  require(")");
  if (const HostFunction* own = names_.function_named(function)) {
    if (own->parameters.size() != given.size()) throw Open{};
    std::map<std::string_view, HostNumber> arguments;
    for (std::size_t i = 0; i < given.size(); ++i) arguments[own->parameters[i]] = given[i];
    const auto value = HostEvaluator(names_, own->body, depth_ + 1, arguments).evaluate();
    if (!value) throw Open{};
    return *value;
  }
  if (const auto type = names_.type({function}); type && given.size() == 1) {
    return converted(given[0], *type);
  }
  if (given.size() == 2 && (function == "min" || function == "max")) {
    const bool first = (given[0].real < given[1].real) == (function == "min");
    HostNumber value = given[first ? 0 : 1];
    value.is_sure = given[0].is_sure && given[1].is_sure;
    return value;
  }
  if (given.size() != 1) throw Open{};
  const double x = given[0].real;
  const bool is_single = function.ends_with('f');
  if (is_single) function.remove_suffix(1);
  const bool is_root = function == "sqrt" && x >= 0;
  if (!is_root && function != "ceil" && function != "floor") throw Open{};
  HostNumber value = HostNumber::of(is_root              ? std::sqrt(x)
                                    : function == "ceil" ? std::ceil(x)
                                                         : std::floor(x));
  value.is_sure = given[0].is_sure;
  return value;
}

HostNumber HostEvaluator::size() {
  require("(");
  Tokens words;
  bool is_pointer = false;
  while (at_ < tokens_.size() && !is(")")) {
    is_pointer = is_pointer || tokens_[at_] == "*";
    words.push_back(tokens_[at_++]);
  }
  require(")");
  if (is_pointer && words.front() != "*") return HostNumber::of(std::int64_t{8});
  if (is_pointer) words = names_.pointed_type(words.back());  // sizeof(*d)
  const auto bytes = names_.size(words);
  if (!bytes) throw Open{};
  return HostNumber::of(*bytes);
}

}  // namespace tilescope::compile

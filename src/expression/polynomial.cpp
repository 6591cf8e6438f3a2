#include "expression/polynomial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"

namespace tilescope::expression {
namespace {

[[noreturn]] void too_large() {
  throw usage_error("a coefficient of the index expression exceeds 64 bits");
}

}  // namespace

void Polynomial::add(const Factors& factors, std::int64_t coefficient) {
  std::int64_t& value = terms_[factors];
  if (__builtin_add_overflow(value, coefficient, &value)) too_large();
  if (value == 0) terms_.erase(factors);
}

Polynomial Polynomial::times(const Polynomial& other) const {
  Polynomial result;
  result.opaque_ = opaque_;
  result.opaque_.insert(other.opaque_.begin(), other.opaque_.end());
  for (const auto& [mine, a] : terms_) {
    for (const auto& [theirs, b] : other.terms_) {
      Factors factors = mine;
      factors.insert(factors.end(), theirs.begin(), theirs.end());
      std::sort(factors.begin(), factors.end());
      std::int64_t product = 0;
      if (__builtin_mul_overflow(a, b, &product)) too_large();
      result.add(factors, product);
    }
  }
  return result;
}

Polynomial Polynomial::of(const Expression& expression) {
  return of_node(expression, expression.root());
}

Polynomial Polynomial::of_node(const Expression& expression, std::size_t index) {
  const Node& node = expression.nodes()[index];
  const auto operand = [&](std::size_t i) { return of_node(expression, node.operands[i]); };
  const auto constant = [](std::int64_t value) {
    Polynomial result;
    result.add({}, value);
    return result;
  };
  Polynomial result;
  if (node.kind == Kind::number) return constant(node.value);
  if (node.kind == Kind::variable) {
    result.add({node.text}, 1);
    return result;
  }
  if (node.kind == Kind::unary && node.text == "-") return operand(0).times(constant(-1));
  if (node.kind == Kind::binary && (node.text == "+" || node.text == "-")) {
    result = operand(0);
    const Polynomial right = node.text == "+" ? operand(1) : operand(1).times(constant(-1));
    result.opaque_.insert(right.opaque_.begin(), right.opaque_.end());
    for (const auto& [factors, coefficient] : right.terms_) result.add(factors, coefficient);
    return result;
  }
  if (node.kind == Kind::binary && node.text == "*") return operand(0).times(operand(1));
  if (node.kind == Kind::binary && node.text == "<<") {
    const Polynomial count = operand(1);
    if (count.is_constant() && count.constant() >= 0 && count.constant() < 62) {
      return operand(0).times(constant(std::int64_t{1} << count.constant()));
    }
  }
  Expression part;
  part.add_copy(expression, index);
  const std::string text = '(' + part.text() + ')';
  result.opaque_[text].insert(part.variables().begin(), part.variables().end());
  result.add({text}, 1);
  return result;
}

Polynomial::Dependence Polynomial::dependence_on(std::string_view variable) const {
  Dependence result = Dependence::none;
  for (const auto& [factors, coefficient] : terms_) {
    const auto times = std::count(factors.begin(), factors.end(), variable);
    const bool hidden = std::any_of(factors.begin(), factors.end(), [&](const std::string& factor) {
      const auto found = opaque_.find(factor);
      return found != opaque_.end() && found->second.contains(variable);
    });
    if (hidden || times > 1) return Dependence::nonlinear;
    if (times == 1) result = Dependence::linear;
  }
  return result;
}

Polynomial Polynomial::coefficient_of(std::string_view variable) const {
  Polynomial result;
  result.opaque_ = opaque_;
  for (const auto& [factors, coefficient] : terms_) {
    const auto found = std::find(factors.begin(), factors.end(), variable);
    if (found == factors.end()) continue;
    Factors rest = factors;
    rest.erase(rest.begin() + (found - factors.begin()));
    result.add(rest, coefficient);
  }
  return result;
}

bool Polynomial::is_constant() const {
  return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty());
}

std::int64_t Polynomial::constant() const {
  const auto found = terms_.find({});
  return found == terms_.end() ? 0 : found->second;
}

std::set<std::string, std::less<>> Polynomial::variables() const {
  std::set<std::string, std::less<>> result;
  for (const auto& [factors, coefficient] : terms_) {
    for (const std::string& factor : factors) {
      const auto found = opaque_.find(factor);
      if (found == opaque_.end()) {
        result.insert(factor);
      } else {
        result.insert(found->second.begin(), found->second.end());
      }
    }
  }
  return result;
}

std::set<std::string, std::less<>> Polynomial::multiplied_variables() const {
  std::set<std::string, std::less<>> result;
  for (const auto& [factors, coefficient] : terms_) {
    if (factors.size() < 2) continue;
    for (const std::string& factor : factors) {
      if (!opaque_.contains(factor)) result.insert(factor);
    }
  }
  return result;
}

std::string Polynomial::text() const {
  if (terms_.empty()) return "0";
  std::string result;
  for (const auto& [factors, coefficient] : terms_) {
    // -INT64_MIN does not exist; the sign of that one value may be wrong.
    const std::uint64_t magnitude = coefficient < 0
                                        ? std::uint64_t{0} - static_cast<std::uint64_t>(coefficient)
                                        : static_cast<std::uint64_t>(coefficient);
    if (result.empty()) {
      result += coefficient < 0 ? "-" : "";
    } else {
      result += coefficient < 0 ? " - " : " + ";
    }
    if (factors.empty() || magnitude != 1) {
      result += fmt::format("{}{}", magnitude, factors.empty() ? "" : " * ");
    }
    result += fmt::format("{}", fmt::join(factors, " * "));
  }
  return result;
}

}  // namespace tilescope::expression

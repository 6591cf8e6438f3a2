// The value of one C++ expression over names whose meanings others know.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "compile/host_types.hpp"

namespace tilescope::compile {

using Tokens = std::vector<std::string_view>;

/// The value of an expression.
struct HostNumber {
  std::int64_t integer = 0;
  double real = 0.0;  ///< always the value; `integer` only unless is_real
  bool is_real = false;
  bool is_sure = true;  ///< false: the file gives a name in it several values

  static HostNumber of(std::int64_t value) { return {value, static_cast<double>(value)}; }
  static HostNumber of(double value) { return {static_cast<std::int64_t>(value), value, true}; }
};

/// A function of one expression, or a macro with parameters.
struct HostFunction {
  std::vector<std::string_view> parameters;
  Tokens body;
};

/// The meanings of names in expressions.
class HostNames {
 public:
  virtual ~HostNames() = default;
  /// `depth`: names within names so far.
  virtual std::optional<HostNumber> value_of(std::string_view name, int depth) = 0;
  virtual std::optional<ElementType> type(const Tokens& words) const = 0;
  virtual std::optional<std::int64_t> size(const Tokens& words) = 0;
  virtual Tokens pointed_type(std::string_view pointer) const = 0;
  virtual const HostFunction* function_named(std::string_view name) const = 0;
};

class HostEvaluator {
 public:
  /// `arguments` are those of the function or macro whose body this is.
  HostEvaluator(HostNames& names, const Tokens& tokens, int depth,
                const std::map<std::string_view, HostNumber>& arguments = {})
      : names_(names), tokens_(tokens), depth_(depth), arguments_(arguments) {}

  /// Nothing if the expression does not follow from constants.
  std::optional<HostNumber> evaluate();

 private:
  struct Open {};  // thrown where something is not known
  struct Operator {
    std::string_view text;
    int precedence;
  };

  bool is(std::string_view text) const { return at_ < tokens_.size() && tokens_[at_] == text; }
  bool take(std::string_view text);
  void require(std::string_view text);
  bool joined(std::size_t i) const;
  const Operator* binary_operator() const;

  HostNumber conditional();
  HostNumber binary(int least);
  HostNumber unary();
  HostNumber primary();
  HostNumber number(std::string_view token) const;
  HostNumber name();
  HostNumber call(std::string_view function);
  HostNumber size();
  std::optional<ElementType> cast_type();
  static HostNumber apply(std::string_view op, const HostNumber& a, const HostNumber& b);
  static HostNumber converted(HostNumber value, const ElementType& type);

  HostNames& names_;
  const Tokens& tokens_;
  std::size_t at_ = 0;
  int depth_;
  const std::map<std::string_view, HostNumber>& arguments_;
};

}  // namespace tilescope::compile

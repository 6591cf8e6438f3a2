// Integer expressions in C's notation, such as "row * n + threadIdx.x" or "i < 1000 && i % 2 == 0":
// parsed once, evaluated often.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::expression {

enum class Kind : std::uint8_t { number, variable, unary, binary, conditional, call, subscript };

/// One node of the tree. Operands are indices into the expression's nodes.
struct Node {
  Kind kind = Kind::number;
  std::string text;        ///< the operator, the function's or the variable's or the array's name
  std::int64_t value = 0;  ///< number: the value; variable: its slot, an index into variables()
  std::vector<std::size_t> operands;
};

class Expression;

/// Meanings of names: "row" -> "blockIdx.y * blockDim.y + threadIdx.y".
using Definitions = std::map<std::string, Expression, std::less<>>;

/// An integer expression. Names may contain dots (threadIdx.x). Operators as in C, without
/// assignment: ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~, parentheses, casts to integer
/// types (which change nothing), min(a, b), max(a, b), abs(a), and subscripts name[i] or
/// name[i][j].
///
/// Arithmetic is that of 64-bit signed integers; what overflows them is an error, not a wrapped
/// value. A subscript within an expression can be parsed and printed, but not evaluated: its value
/// is data.
class Expression {
 public:
  Expression() = default;

  /// Throws Error(usage), one line with the position, for text that is no expression.
  static Expression parse(std::string_view text);
  static Expression number(std::int64_t value);

  /// Names of variables in order of first use.
  const std::vector<std::string>& variables() const { return variables_; }
  /// The slot of `variable`, or -1 when the expression does not contain it.
  std::ptrdiff_t slot(std::string_view variable) const;

  /// The value when variable i has the value slots[i]. Throws Error(usage) for a division by zero,
  /// an overflow, a shift by a negative or too large count, or a subscript.
  std::int64_t evaluate(std::span<const std::int64_t> slots) const;
  /// The same for a single evaluation; throws Error(usage), naming the variable, if one has no
  /// value.
  std::int64_t evaluate(const std::map<std::string, std::int64_t, std::less<>>& values) const;

  /// With all names of `definitions` replaced, also within one another. Throws Error(usage) for a
  /// definition that refers to itself.
  Expression substitute(const Definitions& definitions) const;

  /// The expression with the fewest parentheses.
  std::string text() const;

  bool reads_memory() const;  ///< contains a subscript
  const std::vector<Node>& nodes() const { return nodes_; }
  std::size_t root() const { return nodes_.size() - 1; }

  /// Appends a copy of `other`'s tree below `node` and returns the index of its root. For the
  /// parser and for code that splits subscripts.
  std::size_t add_copy(const Expression& other, std::size_t node);
  std::size_t add(Node node);

 private:
  std::int64_t value_of(std::size_t node, std::span<const std::int64_t> slots) const;
  std::string text_of(std::size_t node, int outer) const;

  std::vector<Node> nodes_;  // operands come before their operator; the last is the root
  std::vector<std::string> variables_;
};

/// A subscripted name, such as tile[ty][k]: a complete access.
struct ArrayAccess {
  std::string array;
  std::vector<Expression> indices;  ///< at least one
};

/// Throws Error(usage) unless `text` is one subscripted name.
ArrayAccess parse_access(std::string_view text);

}  // namespace tilescope::expression

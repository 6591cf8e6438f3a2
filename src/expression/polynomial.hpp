// An index expression as a sum of products: which term carries threadIdx.x, and with what stride?
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expression/expression.hpp"

namespace tilescope::expression {

/// A sum of terms, each a number times a product of factors. A factor is a variable, or a part that
/// is no sum of products (a division, a comparison, a subscript) and is kept as text.
class Polynomial {
 public:
  /// Multiplies `expression` out. Coefficients beyond 64 bits throw Error(usage).
  static Polynomial of(const Expression& expression);

  /// How the value depends on one variable.
  enum class Dependence {
    none,       ///< not at all
    linear,     ///< as coefficient * variable, where the coefficient is free of it
    nonlinear,  ///< otherwise: squared, divided, or inside of a subscript
  };
  Dependence dependence_on(std::string_view variable) const;
  /// The coefficient of `variable`, which must not be nonlinear: 0 when it does not occur.
  Polynomial coefficient_of(std::string_view variable) const;

  bool is_constant() const;
  std::int64_t constant() const;  ///< the term without factors
  /// The variables that occur, including those inside kept text.
  std::set<std::string, std::less<>> variables() const;
  /// Variables that multiply another factor in some term: mostly sizes and strides.
  std::set<std::string, std::less<>> multiplied_variables() const;
  std::string text() const;

 private:
  using Factors = std::vector<std::string>;  // sorted
  void add(const Factors& factors, std::int64_t coefficient);
  Polynomial times(const Polynomial& other) const;
  static Polynomial of_node(const Expression& expression, std::size_t node);

  std::map<Factors, std::int64_t> terms_;  // none with the coefficient 0
  // The variables inside each factor that is kept as text.
  std::map<std::string, std::set<std::string, std::less<>>> opaque_;
};

}  // namespace tilescope::expression

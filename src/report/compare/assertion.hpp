// Budgets: "k.cu:25 sectors_per_request <= 4", parsed and evaluated over a snapshot.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/compare/snapshot.hpp"

namespace tilescope::report {

/// A condition on counters: of everything, of a line or of a kernel.
class Assertion {
 public:
  /// [FILE:LINE | kernel:NAME] EXPRESSION. An expression has the names of counters, decimal
  /// numbers,
  /// + - * / parentheses, comparisons, && and ||. Throws Error(usage), one line, for anything else,
  /// and for a counter that there is not.
  explicit Assertion(const std::string& text);

  const std::string& text() const { return text_; }
  const std::string& kernel() const { return kernel_; }
  /// The counter that the condition is about: the first that it names.
  const std::string& counter() const { return counters_.front(); }
  bool is_of_line() const { return line_ != 0; }

  struct Result {
    bool holds = false;
    double value = 0.0;  ///< the left side of the comparison
    std::string reason;  ///< why there is no value; empty: there is one
  };
  Result evaluate(const Snapshot& snapshot) const;

 private:
  struct Node {
    std::string text;  ///< an operator, or a counter; empty: a number
    double number = 0.0;
    std::vector<Node> operands;
  };
  class Parser;
  static double value_of(const Node& node, const Counters& counters);

  std::string text_, file_, kernel_;
  std::vector<std::string> counters_;  ///< that it names
  std::uint64_t line_ = 0;
  Node root_;
};

/// The names of all counters.
std::vector<std::string_view> counter_names();

}  // namespace tilescope::report

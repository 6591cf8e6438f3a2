// The binary operators of expressions and how tightly they bind.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace tilescope::expression {

inline constexpr std::array<std::pair<std::string_view, int>, 18> binary_operators{{{"||", 1},
                                                                                    {"&&", 2},
                                                                                    {"|", 3},
                                                                                    {"^", 4},
                                                                                    {"&", 5},
                                                                                    {"==", 6},
                                                                                    {"!=", 6},
                                                                                    {"<=", 7},
                                                                                    {">=", 7},
                                                                                    {"<", 7},
                                                                                    {">", 7},
                                                                                    {"<<", 8},
                                                                                    {">>", 8},
                                                                                    {"+", 9},
                                                                                    {"-", 9},
                                                                                    {"*", 10},
                                                                                    {"/", 10},
                                                                                    {"%", 10}}};

/// Binding strength of a binary operator, 1 (||) to 10 (*); 0 for any other text.
constexpr int precedence(std::string_view op) {
  for (const auto& [name, level] : binary_operators) {
    if (name == op) return level;
  }
  return 0;
}

}  // namespace tilescope::expression

// The grammar of expressions.
#pragma once

#include <string_view>

#include "expression/expression.hpp"

namespace tilescope::expression {

/// Binding strength of a binary operator, 1 (||) to 10 (*); 0 for what is none.
int precedence(std::string_view op);

}  // namespace tilescope::expression

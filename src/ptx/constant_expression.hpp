// Constant expressions: `(1 << 4) | 3`, `-5`, `WARP_SZ * 2`, `(.u64) 7`.
#pragma once

#include "ptx/lexer.hpp"
#include "ptx/literal.hpp"

namespace tilescope::ptx {

/// Reads an expression with C's precedence, up to the first token that cannot continue it. Floating
/// point literals stand alone or with a sign. Throws Failure.
Number parse_constant(Lexer& lexer);

/// The same for a place where only an integer makes sense.
std::uint64_t parse_integer_constant(Lexer& lexer);

}  // namespace tilescope::ptx

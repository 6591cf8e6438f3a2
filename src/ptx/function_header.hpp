// The header of a function, before its body.
#pragma once

#include "ptx/parse_context.hpp"

namespace tilescope::ptx {

/// `.entry` or `.func`, which is the current token, up to its semicolon or the brace of its body,
/// which stays current. `has_body` says which. Throws Failure.
Function parse_function_header(ParseContext& context, Linkage linkage);

/// Adds `function` to the module, or completes an earlier declaration of the same name; returns its
/// index. Throws Failure if the two do not agree.
std::uint32_t declare_function(ParseContext& context, Function function, std::string_view name);

/// `(returns) name (parameters)` of a .callprototype, from behind that word to the semicolon.
Prototype parse_prototype(ParseContext& context, std::string_view label);

}  // namespace tilescope::ptx

// The body of a function: declarations, labels and instructions.
#pragma once

#include "ptx/parse_context.hpp"

namespace tilescope::ptx {

/// Reads the body of Module::functions[index], whose opening brace is the current token, up to and
/// including its closing brace. Errors inside go to the diagnostics; throws Failure when the text
/// ends first.
void parse_body(ParseContext& context, std::uint32_t index);

}  // namespace tilescope::ptx

// .file, .loc and .section.
#pragma once

#include "ptx/parse_context.hpp"

namespace tilescope::ptx {

/// The directives, from behind their first word. Throw Failure.
void parse_file(ParseContext& context);
void parse_loc(ParseContext& context);
/// Reads names from .debug_str; skips every other section.
void parse_section(ParseContext& context);

}  // namespace tilescope::ptx

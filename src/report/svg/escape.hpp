// Text from outside the program, made fit for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace tilescope::report {

/// `text` with the characters that markup reserves replaced, in attributes too. Control characters
/// but tabs and line breaks, and bytes that are no UTF-8, become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace tilescope::report

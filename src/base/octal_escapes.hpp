// Strings in assembly text, where compilers write bytes beyond ASCII as \303, and '"' ends a
// string.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// The text with a backslash and three octal digits for each byte of 128 and more and each '"'.
std::string with_octal_escapes(std::string_view text);

/// The opposite; backslashes before anything else stay.
std::string without_octal_escapes(std::string_view text);

}  // namespace tilescope

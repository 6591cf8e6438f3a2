// Text broken into lines for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilescope::report {

constexpr std::size_t terminal_columns = 80;

/// `text` broken between words into lines of at most `width` columns; lines after the first are
/// indented by `indent`, which comes on top. A word longer than `width` stays whole.
std::string hang(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace tilescope::report

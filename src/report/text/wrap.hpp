// Text made fit for a terminal: broken into lines, cut, padded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::report {

constexpr std::size_t terminal_columns = 80;

/// Columns of a terminal that `text` takes: its UTF-8 characters.
std::size_t width_of(std::string_view text);

/// `text` with spaces before or after it, to `width` columns at least.
std::string padded(std::string_view text, std::size_t width, bool on_the_left);

/// `text` broken between words into lines of at most `width` columns; lines after the first have an
/// additional indent of `indent`. A word longer than `width` stays whole.
std::string hang(std::string_view text, std::size_t indent, std::size_t width);

/// The same as a list of lines of at most `width` columns with the indent; a word that is longer is
/// broken too.
std::vector<std::string> lines_within(std::string_view text, std::size_t indent, std::size_t width);

/// `text` cut to `width` columns, with ".." for a missing part.
std::string clipped(std::string_view text, std::size_t width);

}  // namespace tilescope::report

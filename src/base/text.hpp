// Small text helpers that several rooms need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

/// `text` without leading and trailing white space.
std::string_view trim(std::string_view text);

/// `text` with A to Z as a to z.
std::string lower_case(std::string_view text);

/// `text` without the byte order mark that some editors put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

/// The pieces of `text` between `separator`s; an empty text gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The pieces between commas outside of (), [] and <>, trimmed: "int n, A<2, 3> a" has two.
std::vector<std::string_view> split_outside_brackets(std::string_view text);

/// The member of `names` that is nearest to `word` by edit distance, or else begins like it, for
/// "did you mean"; empty if none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& names);

/// `text` made fit for one line of a message: control characters as \xNN, cut with "..." after
/// `limit` bytes. For names and values from outside the program.
std::string printable(std::string_view text, std::size_t limit = 400);

}  // namespace tilescope

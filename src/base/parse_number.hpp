// Numbers in a user's words: parse_number<std::uint64_t>("64").
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tilescope {

/// The number that the whole of `text` is; nothing if it is none, or does not fit.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace tilescope

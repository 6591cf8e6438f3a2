#include "base/octal_escapes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope {

std::string with_octal_escapes(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && c != '"') {
      escaped += c;
    } else {
      escaped += fmt::format("\\{:03o}", byte);
    }
  }
  return escaped;
}

std::string without_octal_escapes(std::string_view text) {
  constexpr std::size_t digits = 3;
  std::string bytes;
  while (!text.empty()) {
    const std::string_view octal = text.substr(1, digits);
    const bool is_escape =
        text.front() == '\\' && octal.size() == digits && octal.front() <= '3' &&
        std::ranges::all_of(octal, [](char digit) { return digit >= '0' && digit <= '7'; });
    bytes +=
        is_escape
            ? static_cast<char>((octal[0] - '0') * 64 + (octal[1] - '0') * 8 + (octal[2] - '0'))
            : text.front();
    text.remove_prefix(is_escape ? 1 + digits : 1);
  }
  return bytes;
}

}  // namespace tilescope

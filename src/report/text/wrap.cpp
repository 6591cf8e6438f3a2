#include "report/text/wrap.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tilescope::report {
namespace {

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

/// The bytes of the first `width` characters of `text`.
std::size_t bytes_of(std::string_view text, std::size_t width) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (starts_character(text[at]) && width-- == 0) break;
  }
  return at;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string padded(std::string_view text, std::size_t width, bool on_the_left) {
  const std::size_t own = width_of(text);
  const std::string spaces(width > own ? width - own : 0, ' ');
  return on_the_left ? spaces + std::string(text) : std::string(text) + spaces;
}

std::string hang(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = 0;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t own = width_of(word);
    if (column > 0 && column + 1 + own > width) {
      result += '\n' + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += own;
  }
  return result;
}

std::vector<std::string> lines_within(std::string_view text, std::size_t indent,
                                      std::size_t width) {
  std::vector<std::string> lines;
  const std::string broken = hang(text, 0, width - indent);
  for (std::string_view line : split(broken, '\n')) {
    do {
      const std::size_t bytes = bytes_of(line, width - indent);
      lines.push_back(std::string(lines.empty() ? 0 : indent, ' ') +
                      std::string(line.substr(0, bytes)));
      line.remove_prefix(bytes);
    } while (!line.empty());
  }
  return lines;
}

std::string clipped(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  return std::string(text.substr(0, bytes_of(text, width > 2 ? width - 2 : 0))) + "..";
}

}  // namespace tilescope::report

#include "report/wrap.hpp"

#include "base/text.hpp"

namespace tilescope::report {

std::string hang(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = 0;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (column > 0 && column + 1 + word.size() > width) {
      result += '\n' + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

}  // namespace tilescope::report

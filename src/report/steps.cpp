#include "report/steps.hpp"

#include <fmt/format.h>

#include "report/wrap.hpp"

namespace tilescope::report {

void Steps::add(std::string_view what, std::string_view how) {
  lines_.push_back(fmt::format("{}: {}", what, how));
}

void Steps::say(std::string_view sentence) {
  lines_.emplace_back(sentence);
}

std::string Steps::text() const {
  std::string text;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    text += fmt::format("{:>3}. {}\n", i + 1, hang(lines_[i], 5, 74));
  }
  return text;
}

}  // namespace tilescope::report

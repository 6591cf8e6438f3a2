#include "report/page/page.hpp"

#include <fmt/format.h>

namespace tilescope::report {

// These blocks are made in place: GCC 12 takes one that is moved for uninitialised.

void Page::say(std::string_view sentence, std::size_t indent, std::size_t hang) {
  blocks.emplace_back(Text{data.fill(sentence), indent, hang});
}

void Page::fact(std::string name, std::string_view sentence) {
  fact(std::move(name), sentence, data);
}

void Page::fact(std::string name, std::string_view sentence, const Record& record) {
  if (blocks.empty() || !std::holds_alternative<Facts>(blocks.back())) {
    std::size_t width = 0;
    for (const Block& block : blocks) {
      if (const auto* before = std::get_if<Facts>(&block)) width = before->name_width;
    }
    facts(width);
  }
  std::get<Facts>(blocks.back()).facts.emplace_back(std::move(name), record.fill(sentence));
}

void Page::step(std::string_view what, std::string_view how) {
  step(what, how, data);
}

void Page::step(std::string_view what, std::string_view how, const Record& record) {
  steps.push_back(fmt::format("{}: {}", what, record.fill(how)));
}

void Page::remark(std::string_view sentence) {
  steps.push_back(data.fill(sentence));
}

void Page::facts(std::size_t name_width) {
  blocks.emplace_back(Facts{name_width, {}});
}

void Page::head(std::string text) {
  blocks.emplace_back(Heading{std::move(text)});
}

void Page::gap() {
  blocks.emplace_back(Text{});
}

void Page::add(Block block) {
  blocks.push_back(std::move(block));
}

}  // namespace tilescope::report

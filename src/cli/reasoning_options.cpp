#include "cli/reasoning_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tilescope/error.hpp>

#include "base/text.hpp"
#include "cli/show.hpp"

namespace tilescope::cli {

void ReasoningOptions::declare(const Options& add, bool with_gpu) {
  if (with_gpu) {
    add("--gpu NAME|FILE.json", gpu_name,
        "A GPU of the table (tilescope devices --all) or your own as FILE.json", shown);
  }
  add("--show", show, "Show the arithmetic step by step");
  add.json(json);
}

int ReasoningOptions::finish(report::Page page) const {
  page.with_steps = show;
  cli::show(page, json);
  return 0;
}

std::vector<std::int64_t> parse_numbers(const std::string& text, std::string_view option) {
  std::string commas = text;
  std::replace(commas.begin(), commas.end(), 'x', ',');
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split(commas, ',')) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size()) {
      throw Error(ErrorKind::usage, fmt::format("{} {}: expected whole numbers such as 16,16",
                                                option, printable(text, 60)));
    }
    numbers.push_back(value);
  }
  return numbers;
}

Dim3 parse_extents(const std::string& text, std::string_view option) {
  const std::vector<std::int64_t> numbers = parse_numbers(text, option);
  const bool fits = numbers.size() <= 3 && std::all_of(numbers.begin(), numbers.end(), [](auto n) {
                      return n >= 1 && n <= 0x7fffffff;
                    });
  if (!fits) {
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: one to three extents from 1 to 2,147,483,647 are allowed",
                            option, printable(text, 60)));
  }
  Dim3 extents;
  extents.x = static_cast<std::uint32_t>(numbers[0]);
  if (numbers.size() > 1) extents.y = static_cast<std::uint32_t>(numbers[1]);
  if (numbers.size() > 2) extents.z = static_cast<std::uint32_t>(numbers[2]);
  return extents;
}

std::map<std::string, std::string> parse_definitions(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> result;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    const std::string name(trim(pair.substr(0, std::min(equals, pair.size()))));
    if (equals == std::string::npos || name.empty() || equals + 1 == pair.size()) {
      throw Error(ErrorKind::usage,
                  fmt::format("--let {}: write it as NAME=EXPRESSION, such as n=1024",
                              printable(pair, 60)));
    }
    result[name] = pair.substr(equals + 1);
  }
  return result;
}

}  // namespace tilescope::cli

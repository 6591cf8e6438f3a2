#include "cli/options.hpp"

#include <algorithm>
#include <cmath>

namespace tilescope::cli {

void required(CLI::Option& option) {
  option.required();
}

void shown(CLI::Option& option) {
  option.capture_default_str();
}

void one_at_a_time(CLI::Option& option) {
  option.allow_extra_args(false);
}

void in_bytes(CLI::Option& option) {
  const CLI::AsSizeValue size(false);
  const auto check = [size](std::string& text) -> std::string {
    const std::string given = text;
    if (given.starts_with('-')) return "bytes cannot be negative: " + given;
    // A longer number would be capped, one that begins with 0 read as octal or as 0x10.
    const std::size_t digits = std::min(given.find_first_not_of("0123456789"), given.size());
    constexpr std::size_t most_digits = 19;
    if (digits == 0 || digits > most_digits || (digits > 1 && given.front() == '0') ||
        given.find_first_of("0123456789", digits) != std::string::npos) {
      return "expected bytes such as 64MiB, got " + given;
    }
    const std::string refusal = size(text);
    if (refusal.empty() && text == "0") return "at least one byte is needed, not " + given;
    return refusal;
  };
  option.transform({check, size.get_description()});
}

void positive(CLI::Option& option) {
  const auto check = [](std::string& text) -> std::string {
    double value = 0.0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && std::isfinite(value) && value > 0.0) return {};
    return "expected a positive number, got " + text;
  };
  option.check({check, "POSITIVE"});
}

Rule one_of(std::vector<std::string> words) {
  return [check = CLI::IsMember(std::move(words))](CLI::Option& option) { option.check(check); };
}

Rule up_to(std::uint64_t most) {
  return [most](CLI::Option& option) {
    option.check(CLI::Range(std::uint64_t{0}, most).description(""));
  };
}

void Options::json(std::string& target) const {
  (*this)("--json FILE|-", target, "Write the results as JSON to FILE, or - for standard output");
}

}  // namespace tilescope::cli

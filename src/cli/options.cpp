#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/output_file.hpp"
#include "base/output_target.hpp"
#include "base/text.hpp"
#include "report/formats/tool_formats.hpp"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

// Recognised by the name of its values: "A.npy", "FILE", "TARGET"; not "OPERATION" or "N".
bool names_files(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find('.') != std::string::npos || type.find("FILE") != std::string::npos ||
         type == "TARGET";
}

bool names_whole_number(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return (type.starts_with('N') || type.starts_with('W')) &&
         (type.size() == 1 || std::isalpha(static_cast<unsigned char>(type[1])) == 0);
}

// The parser would read 010 as 8, 0x10 as 16, -1 as 2^64 - 1, and cap what is too large.
bool is_whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && (text == "0" || text.front() != '0');
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code failed;
  if (fs::equivalent(one, other, failed)) return true;
  // Neither file has to exist yet.
  const fs::path first = fs::weakly_canonical(fs::absolute(one, failed), failed);
  return !first.empty() && first == fs::weakly_canonical(fs::absolute(other, failed), failed);
}

void check_output(const CLI::App& command, const CLI::Option& output) {
  const std::string& name = output.results().front();
  if (name == "-" && output.check_name("--json")) return;
  const OutputTarget target = resolve_output_target(name);
  for (const CLI::Option* option : command.get_options()) {
    if (option == &output || option->count() == 0 || !names_files(*option)) continue;
    for (const std::string& other : option->results()) {
      if (!is_same_file(target.path, other)) continue;
      throw usage_error(
          "{} {} would overwrite {}, which this command reads or writes too; name another file",
          output.get_name(), quoted(name), quoted(other));
    }
  }
  const OutputFile probe(name);
}

}  // namespace

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

Rule one_of_listed(std::span<const std::string_view> words) {
  const std::vector<std::string> copies(words.begin(), words.end());
  return
      [check = CLI::IsMember(copies).description("")](CLI::Option& option) { option.check(check); };
}

namespace {

void check_whole(CLI::Option& option, bool takes_sign) {
  const auto check = [takes_sign](std::string& text) -> std::string {
    if (text.empty()) return "its value is empty";
    if (is_whole_number(takes_sign && text.starts_with('-') ? text.substr(1) : text)) return {};
    return fmt::format("expected a whole number such as 64, got \"{}\"", printable(text, 40));
  };
  option.check({check, ""});
}

}  // namespace

void whole(CLI::Option& option) {
  check_whole(option, true);
}

void real(CLI::Option& option) {
  const auto check = [](std::string& text) -> std::string {
    if (text.empty()) return "its value is empty";
    double value = 0.0;
    if (!CLI::detail::lexical_cast(text, value)) {
      return fmt::format("expected a number such as 0.5, got \"{}\"", printable(text, 40));
    }
    const std::string digits = text.substr(0, text.find_first_of("eEpP"));
    const bool is_zero = digits.find_first_of("123456789abcdfABCDF") == digits.npos;
    if (value != 0.0 || is_zero) return {};
    return fmt::format("{} is nearer to 0 than any number of 64 bits", printable(text, 40));
  };
  option.check({check, ""});
}

Rule up_to(std::uint64_t most) {
  return [most](CLI::Option& option) {
    whole(option);
    option.check(CLI::Range(std::uint64_t{0}, most).description(""));
  };
}

void Options::whole_if_so_named(CLI::Option& option) {
  if (names_whole_number(option)) check_whole(option, false);
}

void Options::json(std::string& target) const {
  (*this)("--json FILE|-", target, "Write the results as JSON to FILE, or - for standard output");
}

void Options::format(std::string& target) const {
  std::vector<std::string> names = report::format_names();
  names.insert(names.begin(), "text");
  (*this)("--format NAME", target, "Standard output: text, or gcc, github, sarif, junit for tools",
          shown, one_of(std::move(names)));
}

void Options::outputs(Outputs& target) const {
  json(target.json);
  (*this)("--html FILE", target.html, "Write the results as a page with pictures, for a browser");
}

void Options::trace(std::string& target) const {
  (*this)("--trace FILE", target,
          "Write launches, blocks and waits of warps for Perfetto, speedscope");
}

void Options::interpret() const {
  CLI::Option* flag = command_.add_flag_callback(
      "--interpret", [] { setenv("TILESCOPE_INTERPRET", "1", 1); },
      "Emulate without compiling: slower, with the same results");
  if (!group_.empty()) flag->group(group_);
}

void check_arguments(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;  // the command itself reports unreadable inputs
    const auto& values = option->results();
    if (std::any_of(values.begin(), values.end(), [](const auto& text) { return text.empty(); })) {
      throw usage_error("{}: its value is empty; see tilescope {} --help", option->get_name(),
                        command.get_name());
    }
  }
  const CLI::Option* const format = command.get_option_no_throw("--format");
  const CLI::Option* const json = command.get_option_no_throw("--json");
  if (format && format->count() > 0 && json->count() > 0 && json->results().front() == "-") {
    throw usage_error(
        "--format and --json - both write to standard output; name a file for --json");
  }
  for (const char* name : {"--json", "--html", "--trace"}) {
    const CLI::Option* const output = command.get_option_no_throw(name);
    if (output != nullptr && output->count() > 0) check_output(command, *output);
  }
}

}  // namespace tilescope::cli

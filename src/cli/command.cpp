#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <tilescope/error.hpp>

#include "compile/cache.hpp"

namespace tilescope::cli {

void add_json_option(CLI::App& command, std::string& target) {
  command
      .add_option("--json", target, "Write the results as JSON to FILE, or - for standard output")
      ->type_name("FILE|-");
}

CLI::Validator byte_size() {
  const CLI::AsSizeValue size(false);
  return {[size](std::string& text) -> std::string {
            const std::string given = text;
            if (given.starts_with('-')) return "bytes cannot be negative: " + given;
            // A longer number would be capped, one that begins with 0 read as octal or as 0x10.
            const std::size_t digits =
                std::min(given.find_first_not_of("0123456789"), given.size());
            constexpr std::size_t most_digits = 19;
            if (digits == 0 || digits > most_digits || (digits > 1 && given.front() == '0') ||
                given.find_first_of("0123456789", digits) != std::string::npos) {
              return "expected bytes such as 64MiB, got " + given;
            }
            const std::string refusal = size(text);
            if (refusal.empty() && text == "0") return "at least one byte is needed, not " + given;
            return refusal;
          },
          size.get_description()};
}

CLI::Validator positive_number() {
  return {[](std::string& text) -> std::string {
            double value = 0.0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            if (is_number && std::isfinite(value) && value > 0.0) return {};
            return "expected a positive number, got " + text;
          },
          "POSITIVE"};
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorKind::bad_input,
                fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

void print_to_stderr(std::string_view text) {
  // If it cannot be written, only the exit code can report that.
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

void note(const std::string& line) {
  print_to_stderr(line + '\n');
}

void tell_cache_failure() {
  const std::string failure = compile::Cache::store_failure();
  if (!failure.empty()) note("tilescope: note: " + failure);
}

}  // namespace tilescope::cli

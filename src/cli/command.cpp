#include "cli/command.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "base/output_file.hpp"

namespace tilescope::cli {

void add_json_option(CLI::App& command, std::string& target) {
  command
      .add_option("--json", target, "Write the results as JSON to FILE, or - for standard output")
      ->type_name("FILE|-");
}

CLI::Validator byte_size() {
  const CLI::AsSizeValue size(false);
  return {[size](std::string& text) -> std::string {
            if (text.starts_with('-')) return "bytes cannot be negative: " + text;
            return size(text);
          },
          size.get_description()};
}

void write_json(const nlohmann::json& json, const std::string& target) {
  if (target.empty()) return;
  // Names of files and lines of sources may hold any bytes, JSON only UTF-8.
  const std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  if (target == "-") {
    print(text);
    return;
  }
  OutputFile file(target);
  file.append(text);
  file.commit();
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorKind::bad_input,
                fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

void note(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

}  // namespace tilescope::cli

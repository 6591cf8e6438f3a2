#include "cli/argument_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/output_file.hpp"
#include "base/output_target.hpp"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

// By the name of its values: "A.npy", "FILE", "TARGET"; not "OPERATION" or "N".
bool names_files(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find('.') != std::string::npos || type.find("FILE") != std::string::npos ||
         type == "TARGET";
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code failed;
  if (fs::equivalent(one, other, failed)) return true;
  // Neither has to exist yet.
  const fs::path first = fs::weakly_canonical(fs::absolute(one, failed), failed);
  return !first.empty() && first == fs::weakly_canonical(fs::absolute(other, failed), failed);
}

void check_json_target(const CLI::App& command, const CLI::Option& json) {
  const std::string& name = json.results().front();
  if (name == "-") return;
  const OutputTarget target = resolve_output_target(name);
  for (const CLI::Option* option : command.get_options()) {
    if (option == &json || option->count() == 0 || !names_files(*option)) continue;
    for (const std::string& other : option->results()) {
      if (!is_same_file(target.path, other)) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("--json {} would overwrite {}, which this command reads or writes "
                              "too; name another file",
                              quoted(name), quoted(other)));
    }
  }
  const OutputFile probe(name);
}

}  // namespace

void check_arguments(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;  // the command says what it cannot read
    const auto& values = option->results();
    if (std::any_of(values.begin(), values.end(), [](const auto& text) { return text.empty(); })) {
      throw Error(ErrorKind::usage, fmt::format("{}: its value is empty; see tilescope {} --help",
                                                option->get_name(), command.get_name()));
    }
  }
  const CLI::Option* const json = command.get_option_no_throw("--json");
  if (json != nullptr && json->count() > 0) check_json_target(command, *json);
}

}  // namespace tilescope::cli

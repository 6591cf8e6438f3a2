#include "inspect/program/program_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/mapped_file.hpp"
#include "base/temporary_file.hpp"
#include "inspect/program/program_build.hpp"
#include "inspect/program/program_sources.hpp"
#include "inspect/program/resumed_check.hpp"

namespace tilescope::inspect {
namespace {

namespace fs = std::filesystem;

/// Refuses an executable that brings NVIDIA's run time with it: nobody can watch that.
void require_shared_run_time(const std::string& path) {
  const MappedFile file(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                               file.bytes().size());
  if (!bytes.starts_with("\177ELF") || bytes.find(".nvFatBinSegment") == bytes.npos ||
      bytes.find("libcudart.so.") != bytes.npos) {
    return;
  }
  throw Error(ErrorKind::bad_input,
              fmt::format("{} has a static CUDA run time; build it with: nvcc -cudart shared "
                          "-lineinfo -arch=compute_80 -Xcompiler -g1 ... (or give tilescope its "
                          "sources)",
                          quoted(path)));
}

/// The words that start an executable or a script.
std::vector<std::string> words_of_executable(const std::string& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) {
    throw Error(ErrorKind::bad_input,
                fmt::format("cannot open {} ({})", quoted(path), system_error_text(ENOENT)));
  }
  if (::access(path.c_str(), X_OK) != 0 || fs::is_directory(path, failed)) {
    if (path.ends_with(".py")) return {"python3", path};
    throw Error(ErrorKind::bad_input,
                fmt::format("{} is no source (.cu, .cpp, .c) and cannot be executed; chmod +x "
                            "makes a program or script executable",
                            quoted(path)));
  }
  require_shared_run_time(path);
  return {path.find('/') == path.npos ? "./" + path : path};
}

/// Says which check it is: everything that its findings depend on.
std::string key_of(const std::vector<std::string>& words, const ProgramSettings& settings) {
  std::string options =
      fmt::format("{} {} {} {} {}", settings.device, settings.max_instructions,
                  settings.device_memory, settings.schedules, settings.schedule.value_or(0));
  for (const LaunchRange& range : settings.launches) options += " " + to_string(range);
  return check_key(words, run_time_directory() + "/libcudart.so.13", options);
}

std::string library_path(const std::string& first) {
  const char* const rest = std::getenv("LD_LIBRARY_PATH");
  return "LD_LIBRARY_PATH=" + first + (rest && *rest ? ":" + std::string(rest) : "");
}

}  // namespace

WatchedRun run_watched(const Program& program, const Device& device, ProgramSettings settings,
                       bool output_to_stderr, const std::function<void()>& before_start) {
  if (program.files.empty()) throw Error(ErrorKind::usage, "a program has at least one file");
  std::optional<BuiltProgram> built;
  ChildCommand command{.output_to_stderr = output_to_stderr};
  if (is_program_source(program.files.front())) {
    built.emplace(program, device.properties());
    command.words = {built->path()};
  } else if (program.files.size() > 1 || !program.compiler_options.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is no source (.cu, .cpp, .c): an executable takes no further files "
                            "and no compiler options; its arguments come after --",
                            quoted(program.files.front())));
  } else {
    command.words = words_of_executable(program.files.front());
  }
  command.words.insert(command.words.end(), program.arguments.begin(), program.arguments.end());

  const TemporaryFile journal("journal", ""), wishes("settings", ".json");
  settings.journal = journal.path();
  settings.device = device.id();
  settings.watcher = ::getpid();
  if (!settings.resume.empty()) {
    settings.journal = fs::absolute(settings.resume);
    settings.checked = begin_resumed_run(settings.resume, key_of(command.words, settings));
  }
  write_program_settings(settings, wishes.path());
  command.environment = {library_path(run_time_directory()),
                         fmt::format("{}={}", program_variable, wishes.path())};
  if (before_start) before_start();
  const ChildEnd end = run_child(command);
  std::vector<Journal> journals = read_journals(settings.journal);
  WatchedRun run{end, std::move(journals.back())};
  journals.pop_back();
  run.earlier = std::move(journals);
  return run;
}

}  // namespace tilescope::inspect

#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tilescope/error.hpp>
#include <vector>

#include "base/errors.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/program_arguments.hpp"
#include "cli/show.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::cli {
namespace {

/// Commands under one heading of --help.
struct Group {
  const char* heading;
  std::vector<const cli::Command*> commands;
};

const Group groups[] = {
    {"Your own program or kernel",
     {&cli::check_command, &cli::explain_command, &cli::run_command, &cli::compare_command}},
    {"Compute",
     {&cli::matmul_command, &cli::saxpb_command, &cli::vector_add_command, &cli::scale_command,
      &cli::reverse_command, &cli::transpose_command, &cli::blur_command, &cli::laplacian_command,
      &cli::histogram_command, &cli::reduce_command}},
    {"Measure",
     {&cli::ladder_command, &cli::tune_command, &cli::transfer_command, &cli::devices_command}},
    {"Reason",
     {&cli::occupancy_command, &cli::roofline_command, &cli::tiles_command, &cli::warps_command,
      &cli::banks_command, &cli::coalesce_command, &cli::dram_command, &cli::memories_command}}};

// Breaks lines that CLI11 would write at any length.
class Formatter final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr std::size_t columns = 80;
    return report::hang(CLI::Formatter::make_option_desc(option), 0, columns - get_column_width());
  }
};

// The notes and examples of a command.
std::string end_of_help(const cli::Command& command) {
  std::string text = command.notes;
  text += text.empty() ? "Examples:" : "\n\nExamples:";
  for (const std::string_view line : split(command.examples, '\n')) {
    text += "\n  " + std::string(line);
  }
  return text;
}

// Prints what --help or --version asked for. Throws Error(usage) about a wrong command line.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    std::ostringstream text;  // CLI11 would not notice that standard output is full
    app.exit(error, text, text);
    cli::print(text.str());
    return 0;
  }
  std::string help = "tilescope";
  for (const CLI::App* command : app.get_subcommands()) help += ' ' + command->get_name();
  // The given arguments stand in it, line breaks included.
  constexpr std::size_t most = 1000;
  throw Error(ErrorKind::usage, printable(error.what(), most) + "; see " + help + " --help");
}

// For an unknown command CLI11 only says that one is required.
void require_known_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) throw Error(ErrorKind::usage, "which command? tilescope --help lists them");
  const std::string_view given = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == given) return;
    names.push_back(command->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_name(std::string(given))) return;
  }
  if (given.starts_with('-')) {
    throw Error(ErrorKind::usage, "a command comes first, not " + printable(given, 100) +
                                      "; tilescope --help lists them");
  }
  const std::string_view near = nearest(given, {names.begin(), names.end()});
  throw usage_error("there is no command \"{}\"{}; see tilescope --help", printable(given, 100),
                    near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

int parse_and_run(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  require_known_command(app, argc, argv);
  std::vector<std::string> words(argv + 1, argv + argc);
  cli::separate_program_words(words);
  std::reverse(words.begin(), words.end());  // as the parser takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, error);
  }
  for (const CLI::App* command : app.get_subcommands()) cli::check_arguments(*command);
  const int code = run();
  cli::tell_cache_failure();
  return code;
}

/// Whether the command line asks for JSON on standard output.
bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    if (given == "--json=-") return true;
    if (given == "--json" && i + 1 < argc && argv[i + 1] == std::string_view("-")) return true;
  }
  return false;
}

/// An error in words, and its exit code.
struct Failure {
  std::string message;
  int code = 0;
};

Failure out_of_memory() {
  return {"out of host memory; use a smaller problem", static_cast<int>(ErrorKind::no_device)};
}

Failure internal_error(const std::exception& error) {
  return {std::string("internal error: ") + error.what(),
          static_cast<int>(ErrorKind::wrong_result)};
}

/// Runs the command. A failure that is not told yet has a message.
Failure guarded_run(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  try {
    return {"", parse_and_run(app, argc, argv, run)};
  } catch (const Error& error) {
    return {error.what(), error.exit_code()};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {  // more elements than a container can have
    return out_of_memory();
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) return internal_error(error);
    return {
        "the system starts no more threads for this process; raise its limit of processes (ulimit "
        "-u) or of memory (ulimit -v)",
        static_cast<int>(ErrorKind::no_device)};
  } catch (const std::exception& error) {
    return internal_error(error);
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  open_standard_streams();
  install_signal_handlers();
  CLI::App app{"GPU kernels you can see through: compute, see, measure.", "tilescope"};
  app.formatter(std::make_shared<Formatter>());  // before the commands, which inherit it
  app.set_version_flag("--version", "tilescope " TILESCOPE_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "Exit codes: 0 ok, 1 wrong result or defects found, 2 usage, 3 no usable device\n"
      "or too little memory, 4 a file that cannot be read, compiled or written,\n"
      "130 Ctrl-C.\n"
      "\n"
      "Examples:\n"
      "  tilescope matmul A.npy B.npy -o C.npy\n"
      "  tilescope ladder matmul --size 1024\n"
      "  tilescope COMMAND --help");
  std::function<int()> run;
  for (const Group& group : groups) {
    for (const cli::Command* command : group.commands) {
      CLI::App* sub = app.add_subcommand(command->name, command->summary)->group(group.heading);
      command->declare(*sub, run);
      sub->footer(end_of_help(*command));
    }
  }

  const Failure failure = guarded_run(app, argc, argv, run);
  if (!failure.message.empty()) cli::note("tilescope: " + failure.message);
  if (failure.code == 0 || !wants_json(argc, argv)) return failure.code;
  try {
    cli::show_failure(argc > 1 ? argv[1] : "", failure.message, failure.code);
  } catch (const std::exception&) {
    // Standard output cannot be written to, which is the failure that was told.
  }
  return failure.code;
}

}  // namespace tilescope::cli

// The target of check, explain and run from options, its launch, and the common steps around the
// library's call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tilescope/inspection.hpp>
#include <tilescope/launch_description.hpp>
#include <vector>

#include "base/signals.hpp"
#include "cli/options.hpp"
#include "cli/program_arguments.hpp"
#include "cli/show.hpp"
#include "report/launch_example.hpp"

namespace tilescope::cli {

/// The LAUNCH options of run, check and explain.
struct LaunchArguments {
  std::string file, kernel, grid, block, cluster, guessed;
  std::string command;  ///< the command of these options: "run"
  std::uint64_t shared = 0;
  bool cooperative = false;
  std::vector<std::string> defines, includes, arguments, constants;
  CLI::Option* shared_given = nullptr;
  bool takes_number = false;  ///< --launch N names a launch of a program too

  void declare(const Options& options);
  /// The launch: --launch FILE.json, then the options over it. Throws Error(usage) when
  /// arguments come from both.
  LaunchDescription description() const;
  /// Whether anything but -D and -I was given, which programs have too.
  bool describes_launch() const;
  /// The N of --launch N.
  std::optional<std::uint64_t> number() const;

 private:
  void add_compiler_options(LaunchDescription& launch) const;
  LaunchDescription several(LaunchDescription first) const;
};

/// Calls `inspect` with `options`. Kernels print to standard error unless the options say
/// otherwise. Ctrl-C and SIGTERM end the run in order once it has begun. Notes about a file go to
/// standard error; an error about its launch shows a command that would do.
template <typename Inspect>
auto inspect_target(const LaunchArguments& launch, const std::string& target,
                    InspectOptions options, Inspect&& inspect) {
  std::optional<CancelScope> scope;  // not from the start: the compiler does not look at the flag
  options.cancel = CancelScope::flag();
  options.before_launch = [&scope] { scope.emplace(); };
  options.progress = true;
  if (!options.print) options.print = print_to_stderr;
  try {
    auto result = inspect(options);
    if (result.program || is_kernel_file(target)) {
      for (const std::string& remark : result.notes) note("tilescope: note: " + remark);
    }
    return result;
  } catch (const LaunchError& error) {
    throw Error(ErrorKind::usage,
                error.what() + report::launch_example(launch.command, target, error));
  }
}

/// The program that check, explain or run was given; nothing if the target is a kernel. Throws
/// Error(usage) for options of a program where there is none.
std::optional<Program> given_program(const std::string& target, const LaunchArguments& launch,
                                     const ProgramArguments& program);

/// The options that check and explain share.
struct TargetArguments {
  std::string what, device = "auto";
  LaunchArguments launch;
  ProgramArguments program;
  ProblemOptions problem;
  int tile = 0;
  std::uint64_t max_instructions = 0;

  void declare(const Options& add);
  bool is_file() const { return is_kernel_file(what); }
  /// The target if it is a source; empty otherwise.
  std::string file() const { return is_file() ? what : std::string(); }
  /// Throws Error(usage) for options that the target does not take.
  Target target() const;
  /// The launch of a target that is a kernel.
  LaunchDescription description() const;

  template <typename Inspect>
  auto inspect(Inspect&& inspect) const {
    return inspect_target(
        launch, what,
        {.device = device, .max_instructions = max_instructions, .launches = program.watched()},
        inspect);
  }
};

}  // namespace tilescope::cli

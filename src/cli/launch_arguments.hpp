// The LAUNCH options of run, check and explain.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <tilescope/launch_description.hpp>
#include <vector>

namespace tilescope::cli {

struct LaunchArguments {
  std::string file, kernel, grid, block;
  std::string command;  ///< the command of these options: "run"
  std::uint64_t shared = 0;
  bool cooperative = false;
  std::vector<std::string> defines, includes, arguments;
  CLI::Option* shared_given = nullptr;
  bool takes_number = false;  ///< --launch N names a launch of a program too

  void add_to(CLI::App& app);
  /// The launch: --launch FILE.json, then the options over it. Throws Error(usage) when
  /// arguments come from both.
  LaunchDescription description() const;
  /// Whether anything but -D and -I was given, which programs have too.
  bool describes_launch() const;
  /// The N of --launch N.
  std::optional<std::uint64_t> number() const;
};

}  // namespace tilescope::cli

// The LAUNCH options of run, check and explain.
#pragma once

#include <cstdint>
#include <string>
#include <tilescope/launch_description.hpp>
#include <vector>

#include "cli/options.hpp"

namespace tilescope::cli {

struct LaunchArguments {
  std::string file, kernel, grid, block;
  std::string command;  ///< the command of these options: "run"
  std::uint64_t shared = 0;
  bool cooperative = false;
  std::vector<std::string> defines, includes, arguments;
  CLI::Option* shared_given = nullptr;

  void declare(const Options& options);
  /// The launch: --launch FILE.json, then the options over it. Throws Error(usage) when
  /// arguments come from both.
  LaunchDescription description() const;
};

}  // namespace tilescope::cli

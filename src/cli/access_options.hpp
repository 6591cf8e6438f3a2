// The options of the commands that analyse an access given as text.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <tilescope/gpu/access.hpp>
#include <vector>

namespace tilescope::cli {

struct AccessOptions {
  std::string expression, block = "32,8", grid = "4,4";
  std::vector<std::string> definitions;
  int element_bytes = 4;
  std::int64_t columns = 0, warp = 0;

  void add_to(CLI::App& command, bool required);
  gpu::AccessQuestion question(int shared_banks) const;
};

}  // namespace tilescope::cli

// The options of the commands that analyse an access given as text.
#pragma once

#include <string>
#include <tilescope/gpu/access.hpp>
#include <vector>

#include "cli/options.hpp"

namespace tilescope::cli {

struct AccessOptions {
  static constexpr const char* help = "Such as 'A[row*n + k]', or 'tile[ty][k]' with --columns";
  std::string expression, block = "32,8", grid = "4,4";
  std::vector<std::string> definitions;
  int element_bytes = 4;
  std::int64_t columns = 0, warp = 0;

  /// Declares all but ACCESS, whose help is above.
  void declare(const Options& add);
  gpu::AccessQuestion question(int shared_banks) const;
};

}  // namespace tilescope::cli

// The <<<...>>> launches in a file's host code, with the numbers that follow from its constants,
// for example command lines. What does not follow plainly is left open.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/host_values.hpp"

namespace tilescope::compile {

struct LaunchSite {
  struct Argument {
    std::optional<HostNumber> value;
    std::optional<HostNumber> bytes;  ///< that cudaMalloc gave the pointer of this name
    bool is_null = false;             ///< nullptr or NULL
    Tokens pointed;                   ///< the type to which the variable of this name points
  };

  std::string kernel;  ///< as it is launched: "fill<float, 128>"
  std::optional<HostExtents> grid, block;
  std::optional<HostNumber> shared_bytes;  ///< nothing: left out, or open
  bool gives_shared_bytes = false;
  std::vector<Argument> arguments;
};

/// Every launch, in order. A name stands for the first number that the host code gives it, wherever
/// that is; it is sure if there is no other.
std::vector<LaunchSite> launches_in(HostValues& values);

/// The variables that `source` names in cudaMemcpyToSymbol.
std::set<std::string> symbols_copied_to(std::string_view source);

}  // namespace tilescope::compile

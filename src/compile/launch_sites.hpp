// The <<<...>>> launches in a file's host code, with the numbers that follow from its constants,
// for example command lines. This reads the text without C++ semantics; anything that does not
// follow plainly is left open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/launch.hpp>
#include <vector>

namespace tilescope::compile {

struct LaunchSite {
  struct Argument {
    std::optional<std::int64_t> value;  ///< of an integer expression
    std::optional<std::int64_t> bytes;  ///< bytes that cudaMalloc gave the pointer of this name
  };

  std::string kernel;  ///< as it is launched: "fill<float, 128>"
  std::optional<Dim3> grid, block;
  std::optional<std::int64_t> shared_bytes;
  std::vector<Argument> arguments;
};

/// Every launch of `source`, in order. A name stands for the first number that a
/// #define or an assignment gives it, wherever that is. Takes any text without failing.
std::vector<LaunchSite> launches_in(std::string_view source);

}  // namespace tilescope::compile

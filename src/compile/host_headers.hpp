// The headers of the host's libraries that .cu files include. The run-time compiler has none of
// them. Kernels need little of them, and this file provides it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::compile {

/// The text for `#include <name>`; nothing for headers that must be found on disk.
std::optional<std::string> host_header(std::string_view name);

/// The stand-in for nvcc's implicit first include: integer types, constants and functions of
/// mathematics. Its name for sources, and its text.
inline constexpr std::string_view prelude_name = "tilescope_prelude.h";
std::string_view prelude();

}  // namespace tilescope::compile

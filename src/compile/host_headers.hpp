// The headers of the host's libraries that .cu files include. The run-time compiler has none of
// them; kernels need little of what is in them, and that little is given here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::compile {

/// The text that stands in for `#include <name>`; nothing for headers that must be found on disk.
std::optional<std::string> host_header(std::string_view name);

/// What nvcc includes before the first line: integer types, constants and functions of mathematics.
/// The name by which sources find it, and its text.
inline constexpr std::string_view prelude_name = "tilescope_prelude.h";
std::string_view prelude();

}  // namespace tilescope::compile

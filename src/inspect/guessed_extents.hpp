// The grid and block of a kernel that no host code launches: what its source lets one expect.
#pragma once

#include <string_view>
#include <tilescope/launch.hpp>

#include "compile/host_values.hpp"

namespace tilescope::inspect {

/// One block, unless something in the source may tell blocks apart.
Dim3 guessed_grid(std::string_view source);

/// As many threads as the static shared arrays of the source have elements or rows for, at most
/// 256 in one dimension.
Dim3 guessed_block(std::string_view source, compile::HostValues& values);

}  // namespace tilescope::inspect

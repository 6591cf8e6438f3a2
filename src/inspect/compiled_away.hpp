// Shared variables of which the compiler has left nothing: a check of the compiled code cannot find
// what was wrong with them, and says so.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/finding.hpp>
#include <tilescope/target.hpp>
#include <vector>

namespace tilescope::inspect {

/// Notes for the variables that the kernel assigns in one of `sources` and that are missing in
/// `compiled`, the symbols of its shared memory.
std::vector<Finding> compiled_away(const std::vector<SourceText>& sources, std::string_view kernel,
                                   const std::vector<std::string>& compiled);

}  // namespace tilescope::inspect

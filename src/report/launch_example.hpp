// A command line that launches a kernel, for an incomplete one.
#pragma once

#include <string>
#include <tilescope/launch_description.hpp>

namespace tilescope::report {

/// The kernel with its parameters, and below it `tilescope COMMAND FILE ...` that would work. Lines
/// of at most 80 columns where names allow it, to put behind an error message.
std::string launch_example(const std::string& command, const std::string& path,
                           const LaunchError& error);

}  // namespace tilescope::report

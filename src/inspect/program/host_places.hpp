// Source lines of a program's host code.
#pragma once

#include <map>
#include <string>
#include <tilescope/finding.hpp>
#include <vector>

#include "inspect/program/program_journal.hpp"

namespace tilescope::inspect {

/// For each stack the lines of the program's own source, the call's first; never empty.
using HostPlaces = std::map<StackId, std::vector<SourcePlace>>;

/// Looks up the stacks' frames; those in CUDA's headers, in code that nvcc made and in libraries
/// are passed over. A file below the current folder has a relative name. Without a line table the
/// file is the function, or the executable with an offset, and the line is 0. One run of addr2line
/// resolves a whole executable.
HostPlaces host_places(const std::map<StackId, HostStack>& stacks);

/// `path` relative to the current folder if it lies below it.
std::string short_path(const std::string& path);

}  // namespace tilescope::inspect

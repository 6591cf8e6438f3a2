// The options that make a problem of an operation, for every command that takes one.
#pragma once

#include "cli/options.hpp"
#include "operations/registry.hpp"

namespace tilescope::cli {

/// Declares --size, --rows, ... and --seed. Making the problem checks which of them the
/// operation takes.
void declare_problem(const Options& command, ProblemOptions& options);

}  // namespace tilescope::cli

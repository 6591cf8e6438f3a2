// The options that make a problem of an operation, for every command that takes one.
#pragma once

#include <CLI/CLI.hpp>

#include "operations/registry.hpp"

namespace tilescope::cli {

/// Adds --size, --rows, ... and --seed to `command`; which of them an operation takes is checked
/// when the problem is made.
void add_problem_options(CLI::App& command, ProblemOptions& options);

}  // namespace tilescope::cli

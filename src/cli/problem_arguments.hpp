// The options that make a problem of an operation, for every command that takes one.
#pragma once

#include <CLI/CLI.hpp>

#include "operations/registry.hpp"

namespace tilescope::cli {

/// Adds --size, --rows, ... and --seed to `command`. Making the problem checks which of them the
/// operation takes.
void add_problem_options(CLI::App& command, ProblemOptions& options);

}  // namespace tilescope::cli

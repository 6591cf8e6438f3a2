// Checks of every command's arguments before its work begins.
#pragma once

#include <CLI/CLI.hpp>

namespace tilescope::cli {

/// `command`: a subcommand that was parsed. Its options have no empty values: what an unset
/// variable of a shell leaves would be read as a zero, or as an option that was not given. Options
/// whose values are called N or W have whole numbers, decimal and without a sign. The file
/// of --json can be written, and is no other file that the command names: that would be found only
/// when the work is done, or not at all. Throws Error(usage), or Error(bad_input) for a file.
void check_arguments(const CLI::App& command);

}  // namespace tilescope::cli

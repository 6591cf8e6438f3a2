// The command `tilescope`: parses the command line, runs one subcommand, maps errors to exit codes.
#pragma once

namespace tilescope::cli {

/// Runs the command and returns its exit code. Takes over the process's handlers of signals, so it
/// is called once, by a process that does nothing else.
int run_command_line(int argc, char** argv);

}  // namespace tilescope::cli

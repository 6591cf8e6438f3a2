// A program as a child process, watched by the run time that it is linked against.
#pragma once

#include <functional>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/program.hpp>

#include "base/child_process.hpp"
#include "inspect/program/program_journal.hpp"
#include "inspect/program/program_settings.hpp"

namespace tilescope::inspect {

struct WatchedRun {
  ChildEnd end;
  Journal journal;
  std::vector<Journal> earlier = {};  ///< of a check that was resumed
};

/// Compiles the program if it is given as sources, calls `before_start`, and runs it to its end.
/// Its output goes to standard error if `output_to_stderr`. `settings` need no journal.
///
/// Throws Error: usage for files that are no program, bad_input for a file that cannot be read,
/// compiled or run, and for an executable with a static CUDA run time.
WatchedRun run_watched(const Program& program, const Device& device, ProgramSettings settings,
                       bool output_to_stderr, const std::function<void()>& before_start);

}  // namespace tilescope::inspect

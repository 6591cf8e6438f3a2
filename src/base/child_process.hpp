// Other programs, run as children of this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

struct ChildCommand {
  std::vector<std::string> words;        ///< a path, or a name that PATH knows; then its arguments
  std::vector<std::string> environment;  ///< NAME=VALUE, above this process's own
  bool output_to_stderr = false;         ///< its standard output goes to standard error
};

/// How a child ended.
struct ChildEnd {
  int code = 0;    ///< its exit code, if no signal ended it
  int signal = 0;  ///< 0: none
};

/// Runs the child with this process's input, output and errors, and waits. Signals that a
/// CancelScope has taken are passed on. Throws Error(bad_input) if it cannot be started.
ChildEnd run_child(const ChildCommand& command);

/// Lets this process get SIGTERM when process `parent` dies, which may be by SIGKILL; nothing if
/// another one is its parent.
void end_with_parent(std::int64_t parent);

struct ChildOutput {
  ChildEnd end;
  std::string text;  ///< standard output and standard error, in order
};

/// Runs the child without input and collects its output. Throws as run_child().
ChildOutput run_and_capture(const ChildCommand& command);

}  // namespace tilescope

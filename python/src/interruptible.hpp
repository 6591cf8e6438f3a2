// Long calls of the library from Python: other threads of Python go on, and Ctrl-C ends the call.
#pragma once

#include <atomic>
#include <functional>

namespace tilescope::python {

/// A flag that becomes true when the call shall end.
using CancelFlag = std::atomic<bool>;

/// Runs `work` without the interpreter's lock, on a thread of its own, while this one looks for
/// signals. A handler that raises (Ctrl-C) sets the flag; the exception is raised when `work` has
/// ended. `work` must not touch Python's objects.
void run_interruptibly(const std::function<void(const CancelFlag& cancel)>& work);

}  // namespace tilescope::python

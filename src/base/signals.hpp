// Ctrl-C and related signals: nothing half-written stays, and a long job may stop in order.
#pragma once

#include <atomic>

namespace tilescope {

/// Call it once, at the start of a program that writes files. SIGINT, SIGTERM and SIGHUP remove the
/// temporaries of every OutputFile and exit with 128 plus the signal's number (130, 143, 129); a
/// signal that was ignored at the start stays ignored (nohup). Other signals that end a process,
/// such as SIGPIPE and SIGQUIT, remove the temporaries too and then end it as usual. SIGBUS in a
/// mapped file means that the file was cut short: one line explains it, and the exit code is 4.
/// SIGXFSZ is ignored: a write past the limit fails instead. A library user with their own handlers
/// need not call it.
void install_signal_handlers();

/// While one of these lives, the first Ctrl-C or SIGTERM only sets a flag, so that a job which
/// looks at `cancelled` now and then can stop in order and report what it has. The second exits at
/// once, and so does a job that has not stopped five seconds after SIGTERM.
class CancelScope {
 public:
  CancelScope();
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  /// Whether Ctrl-C or SIGTERM came since the outermost scope began. Cheap, from any thread.
  static bool cancelled() noexcept;
  /// How a job exits that was cancelled: 128 plus the signal's number.
  static int exit_code() noexcept;
  /// The flag itself; it lives as long as the process.
  static const std::atomic<bool>* flag() noexcept;
};

}  // namespace tilescope

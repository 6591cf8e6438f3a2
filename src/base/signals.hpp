// Ctrl-C and its relatives: nothing half-written stays, and a long job may finish in order.
#pragma once

#include <atomic>

namespace tilescope {

/// To be called once, at the start of a program that writes files.
/// SIGINT, SIGTERM and SIGHUP remove the temporaries of every OutputFile and exit with 128 plus
/// the signal's number (130, 143, 129); a signal that was ignored at the start stays ignored
/// (nohup). Others that end a process, such as SIGPIPE and SIGQUIT, remove the temporaries too and
/// then end it as ever. SIGBUS in a mapped file, which means that somebody cut the file short, is
/// explained in one line and exits with 4. SIGXFSZ is ignored: a write past the limit fails
/// instead. A library user who has handlers of their own need not call it.
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
  /// The flag itself, for those who take one; it lives as long as the process.
  static const std::atomic<bool>* flag() noexcept;
};

}  // namespace tilescope

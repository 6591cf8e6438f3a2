#include "base/signals.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "base/cleanup.hpp"
#include "base/terminal.hpp"

namespace tilescope {
namespace {

std::atomic<int> scopes{0};
std::atomic<bool> cancel_flag{false};
std::atomic<int> cancelled_by{0};  ///< the signal that set the flag
std::atomic<bool> bus_error{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void say(const char* text) noexcept {
  // Nothing can be done about a failure on the way out.
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

/// Whoever sends SIGTERM waits about ten seconds before SIGKILL follows.
constexpr unsigned seconds_to_stop = 5;

void end_now(int signal) {
  remove_temporaries();
  if (ProgressLine::is_shown()) say("\n");
  ::_exit(128 + signal);
}

extern "C" void end_on_signal(int signal) {
  int none = 0;
  if (signal == SIGHUP || scopes == 0 || !cancelled_by.compare_exchange_strong(none, signal)) {
    end_now(signal);
  }
  cancel_flag = true;
  // A step that does not test the flag, such as a reference on the CPU, may take a while.
  if (signal == SIGTERM) {
    ::alarm(seconds_to_stop);
  } else if (::isatty(STDERR_FILENO) != 0) {
    say("\ntilescope: stopping; Ctrl-C again ends it at once\n");
  }
}

// Ends as the system would have, after removing temporaries. SIGPIPE comes when the reader of a
// message is gone, as after Ctrl-C in a pipeline.
extern "C" void remove_and_end(int signal) {
  if (signal == SIGALRM && cancelled_by == SIGTERM) end_now(SIGTERM);
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  // One at a time: a second signal waits, so that the removal is not cut in half.
  ::sigfillset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

extern "C" void explain_bus_error(int signal, siginfo_t* info, void*) {
  // Several threads may reach the end of the file at the same moment: one of them reports.
  if (bus_error.exchange(true)) {
    for (;;) ::pause();
  }
  const char* const name = info != nullptr ? mapped_file_at(info->si_addr) : nullptr;
  remove_temporaries();
  if (name == nullptr) {  // a defect, not a file: end as the system would
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  if (ProgressLine::is_shown()) say("\n");
  say("tilescope: '");
  say(name);
  say("' was cut short while it was in use; run again when nothing writes to it\n");
  ::_exit(4);
}

}  // namespace

void install_signal_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal, end_on_signal);
  for (const int signal : {SIGPIPE, SIGQUIT, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2, SIGABRT}) {
    handle(signal, remove_and_end);
  }
  // Past ulimit -f a write then fails, and is reported like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction bus = {};
  bus.sa_sigaction = explain_bus_error;
  bus.sa_flags = SA_SIGINFO;
  ::sigfillset(&bus.sa_mask);
  ::sigdelset(&bus.sa_mask, SIGBUS);
  ::sigaction(SIGBUS, &bus, nullptr);
}

CancelScope::CancelScope() {
  if (scopes == 0) {
    cancel_flag = false;
    cancelled_by = 0;
  }
  ++scopes;
}

CancelScope::~CancelScope() {
  --scopes;
}

bool CancelScope::cancelled() noexcept {
  return cancel_flag.load(std::memory_order_relaxed);
}

int CancelScope::exit_code() noexcept {
  return 128 + cancelled_by;
}

const std::atomic<bool>* CancelScope::flag() noexcept {
  return &cancel_flag;
}

}  // namespace tilescope

#include "base/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/signals.hpp"

namespace tilescope {
namespace {

/// The environment of this process with `changes`, which replace what has the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool changed = std::any_of(changes.begin(), changes.end(),
                                     [&](const auto& change) { return change.starts_with(name); });
    if (!changed) all.emplace_back(text);
  }
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The files that a child gets as its standard input, output and errors.
class StreamChanges {
 public:
  StreamChanges() { ::posix_spawn_file_actions_init(&actions_); }
  ~StreamChanges() { ::posix_spawn_file_actions_destroy(&actions_); }
  StreamChanges(const StreamChanges&) = delete;
  StreamChanges& operator=(const StreamChanges&) = delete;

  void duplicate(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void no_input() {
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

pid_t start(const ChildCommand& command, const StreamChanges& streams) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = environment_with(command.environment);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t usual;  // install_signal_handlers() ignores it
  ::sigemptyset(&usual);
  ::sigaddset(&usual, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, words.front().c_str(), streams.get(), &attributes,
                                     pointers_to(words).data(), pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (failure == 0) return child;
  throw Error(ErrorKind::bad_input,
              fmt::format("cannot run {} ({})", quoted(words.front()), system_error_text(failure)));
}

ChildEnd end_of(int status) {
  if (WIFSIGNALED(status)) return {.code = 128 + WTERMSIG(status), .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

ChildEnd wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return end_of(status);
}

/// A terminal sends Ctrl-C to all processes in its foreground.
bool terminal_signals_us() {
  const FileDescriptor terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC));
  return terminal.is_open() && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

}  // namespace

ChildEnd run_child(const ChildCommand& command) {
  StreamChanges streams;
  if (command.output_to_stderr) streams.duplicate(STDERR_FILENO, STDOUT_FILENO);
  const pid_t child = start(command, streams);
  // Where the kernel has no such descriptors, poll() only sleeps.
  const FileDescriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  bool is_told = false;
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return end_of(status);
    if (CancelScope::cancelled() && !is_told) {
      is_told = true;
      const int signal = CancelScope::exit_code() - 128;
      if (signal != SIGINT || !terminal_signals_us()) ::kill(child, signal);
    }
    constexpr int milliseconds = 50;
    pollfd until{.fd = ended.get(), .events = POLLIN, .revents = 0};
    ::poll(&until, 1, milliseconds);
  }
}

void end_with_parent(std::int64_t parent) {
  if (::getppid() != parent) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) std::raise(SIGTERM);  // it died meanwhile
}

ChildOutput run_and_capture(const ChildCommand& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(
        ErrorKind::bad_input,
        fmt::format("cannot run {} ({})", quoted(command.words.front()), system_error_text(errno)));
  }
  FileDescriptor from(ends[0]), to(ends[1]);
  StreamChanges streams;
  streams.no_input();
  streams.duplicate(to.get(), STDOUT_FILENO);
  streams.duplicate(to.get(), STDERR_FILENO);
  const pid_t child = start(command, streams);
  to.close();
  ChildOutput output;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t count = ::read(from.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output.text.append(piece.data(), static_cast<std::size_t>(count));
  }
  output.end = wait_for(child);
  return output;
}

}  // namespace tilescope

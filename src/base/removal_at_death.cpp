#include "base/removal_at_death.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tilescope {

RemovalAtDeath::RemovalAtDeath(const std::string& path) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const FileDescriptor until(ends[0]);
  alive_ = FileDescriptor(ends[1]);
  const char* const file = path.c_str();
  watcher_ = ::fork();
  if (watcher_ != 0) return;
  // Only calls that are safe beside other threads. The session of its own keeps the signals away
  // that a launcher or a terminal sends to the ranks; no descriptor of theirs stays open.
  ::setsid();
  if (::chdir("/") != 0) ::_exit(0);
  ::dup2(until.get(), STDIN_FILENO);
  constexpr int first = STDERR_FILENO, beyond = 1024;
  ::close(STDOUT_FILENO);
  if (::syscall(SYS_close_range, first, ~0U, 0U) != 0) {
    for (int descriptor = first; descriptor < beyond; ++descriptor) ::close(descriptor);
  }
  ::execl("/bin/sh", "sh", "-c", "read end; rm -f -- \"$1\"", "sh", file, nullptr);
  ::_exit(0);
}

RemovalAtDeath::~RemovalAtDeath() {
  alive_.close();
  int status = 0;
  while (watcher_ > 0 && ::waitpid(watcher_, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace tilescope

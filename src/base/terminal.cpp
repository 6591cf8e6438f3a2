#include "base/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

std::atomic<int> shown_lines{0};

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written <= 0) return;  // a failure to show progress is not an error
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// "  about 12 s left", if work goes on as fast as before; empty while that says little.
std::string time_left(std::chrono::steady_clock::duration elapsed, std::uint64_t done,
                      std::uint64_t total) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  if (seconds < 2.0 || done == 0 || done >= total) return {};
  const double left =
      std::ceil(seconds * static_cast<double>(total - done) / static_cast<double>(done));
  return fmt::format("  about {} left",
                     left < 60 ? fmt::format("{:.0f} s", left) : format_duration(left));
}

}  // namespace

void open_standard_streams() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) != -1) continue;
    // The lowest free number is this one: those below are taken by now.
    const int opened = ::open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != file && opened >= 0) ::close(opened);
  }
}

bool is_terminal(int file) {
  return ::isatty(file) == 1;
}

bool use_colour(int file) {
  const char* const refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* const kind = std::getenv("TERM");
  return kind != nullptr && std::string_view(kind) != "dumb" && is_terminal(file);
}

int terminal_width(int file) {
  struct winsize size = {};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

ProgressLine::ProgressLine(std::string label, std::uint64_t total)
    : ProgressLine(std::move(label), total, STDERR_FILENO, std::chrono::steady_clock::now) {}

ProgressLine::ProgressLine(std::string label, std::uint64_t total, Time due)
    : ProgressLine(std::move(label), total) {
  next_ = due;
}

ProgressLine::ProgressLine(std::string label, std::uint64_t total, int file, Clock clock)
    : label_(printable(label)),
      total_(total),
      file_(file),
      on_terminal_(is_terminal(file)),
      clock_(std::move(clock)),
      begin_(clock_()),
      next_(begin_ + std::chrono::seconds(1)) {}

ProgressLine::~ProgressLine() {
  erase();
}

std::string ProgressLine::text(std::uint64_t done, Time now) const {
  if (total_ == 0) return fmt::format("{}  {}", label_, format_count(done));
  done = std::min(done, total_);
  // Rounded down: 100% means finished.
  const auto percent =
      static_cast<int>(100.0L * static_cast<long double>(done) / static_cast<long double>(total_));
  return fmt::format("{}  {}%  {} / {}{}", label_, percent, format_count(done),
                     format_count(total_), time_left(now - begin_, done, total_));
}

void ProgressLine::update(std::uint64_t done) {
  if (!on_terminal_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is writing it
  const auto now = clock_();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  // One column stays free: a full line would wrap on some terminals.
  const auto width = static_cast<std::size_t>(std::max(terminal_width(file_) - 1, 1));
  write_all(file_, "\r\x1b[K" + text(done, now).substr(0, width));
  if (!std::exchange(shown_, true)) ++shown_lines;
}

void ProgressLine::erase() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(shown_, false)) return;
  write_all(file_, "\r\x1b[K");
  --shown_lines;
}

bool ProgressLine::is_shown() noexcept {
  return shown_lines > 0;
}

}  // namespace tilescope

// Properties of the terminal, and its one line of progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace tilescope {

/// Call it once, before anything is opened. It opens standard streams that the caller closed (>&-),
/// so that no other file gets their number and receives their output. Writing to such an output
/// fails; messages to such an error stream vanish.
void open_standard_streams();

/// Whether file descriptor `file` is a terminal.
bool is_terminal(int file);

/// Whether to colour output to `file`: on a terminal that is not "dumb", without NO_COLOR in the
/// environment (set to any value but the empty one).
bool use_colour(int file);

/// Columns of the terminal `file`; 80 if it is none or its width is unknown.
int terminal_width(int file);

/// A line such as "verifying  42%  1,234 / 2,938  about 12 s left" on standard error. It appears
/// only on a terminal and only after a second of work, changes at most ten times a second, and
/// erases itself. `update` may be called from any thread and costs little when nothing is due.
class ProgressLine {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Clock = std::function<Time()>;

  /// `total`: the amount of work in units of the caller's choice; 0 if unknown.
  explicit ProgressLine(std::string label, std::uint64_t total = 0);
  /// The same for one part of work that began before: `due` is next_due() of the part before.
  ProgressLine(std::string label, std::uint64_t total, Time due);
  /// For tests: another file than standard error, and another clock.
  ProgressLine(std::string label, std::uint64_t total, int file, Clock clock);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `done` of `total` is finished.
  void update(std::uint64_t done);
  /// The time from which on the line may be written.
  Time next_due() const { return next_; }
  /// Removes the line, until the next `update` that is due.
  void erase();

  /// Whether a line is on the terminal now. Safe in a signal handler.
  static bool is_shown() noexcept;

 private:
  std::string text(std::uint64_t done, Time now) const;

  std::string label_;
  std::uint64_t total_;
  int file_;
  bool on_terminal_;
  Clock clock_;
  Time begin_, next_;
  std::mutex mutex_;
  bool shown_ = false;
};

}  // namespace tilescope

// A text file that grows line by line and survives being killed. Text behind the last complete line
// was being written when the process died, and does not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace tilescope::io {

/// One process at a time. All throw Error(bad_input) if the file cannot be read or written.
class LineJournal {
 public:
  /// Opens `path`, which is absolute, or creates it; what it holds stays. `subject` is the file
  /// that messages name. Throws Error(usage) if another process has the journal open.
  LineJournal(const std::string& path, const std::string& subject);

  const std::string& path() const { return path_; }
  /// The complete lines, and the text behind them. append() replaces that text.
  struct Text {
    std::vector<std::string> lines;
    std::string torn;
  };
  Text read();
  /// Drops all lines.
  void clear();
  /// Adds complete lines, which are on disk afterwards.
  void append(std::string_view lines);
  /// Removes the file, but no other one that has been given its name.
  void remove();
  /// `line` counts from 0.
  [[noreturn]] void fail_damaged(std::size_t line) const;

 private:
  [[noreturn]] void fail(const std::string& why) const;

  std::string path_, subject_, folder_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;  ///< of the complete lines
};

}  // namespace tilescope::io

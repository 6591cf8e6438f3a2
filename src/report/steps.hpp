// Arithmetic step by step, in words and numbers: what --show prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::report {

class Steps {
 public:
  /// One step: what is worked out, and how: ("warps per block", "256 / 32 = 8").
  void add(std::string_view what, std::string_view how);
  /// A sentence of its own.
  void say(std::string_view sentence);

  /// Numbered lines of at most 80 columns; empty when there are no steps.
  std::string text() const;
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace tilescope::report

// The errors of one text: collected, so that a user sees more than the first.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::ptx {

/// Thrown inside the parser to leave a statement; caught where the next one begins.
struct Failure {
  std::uint32_t line;
  std::string text;
};

template <typename... Args>
[[noreturn]] void fail(std::uint32_t line, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{line, fmt::format(format, std::forward<Args>(args)...)};
}

class Diagnostics {
 public:
  static constexpr std::size_t limit = 10;

  explicit Diagnostics(std::string_view file) : file_(file) {}

  /// Records an error. Throws Error(bad_input) when there are `limit` of them.
  void add(const Failure& failure);
  /// Throws Error(bad_input) if there are any.
  void finish() const;
  bool empty() const { return errors_.empty(); }

 private:
  [[noreturn]] void give_up() const;

  std::string file_;
  std::vector<std::string> errors_;
};

/// `text` in quotes for a message: shortened, and without control characters.
std::string quoted(std::string_view text);

}  // namespace tilescope::ptx

#include "cli/command.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tilescope/error.hpp>

#include "compile/cache.hpp"

namespace tilescope::cli {

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorKind::bad_input,
                fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

void print_to_stderr(std::string_view text) {
  // If it cannot be written, only the exit code can report that.
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

void note(const std::string& line) {
  print_to_stderr(line + '\n');
}

void tell_cache_failure() {
  const std::string failure = compile::Cache::store_failure();
  if (!failure.empty()) note("tilescope: note: " + failure);
}

}  // namespace tilescope::cli

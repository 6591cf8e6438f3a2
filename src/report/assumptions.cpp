#include "report/assumptions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::report {

std::string guesses(const Inspection& result) {
  if (result.guessed.empty()) return {};
  return fmt::format("; guessed: {}", fmt::join(result.guessed, ", "));
}

Record assumptions(const Inspection& result) {
  return {{"guessed", List(result.guessed.begin(), result.guessed.end())},
          {"unset", List(result.unset.begin(), result.unset.end())}};
}

}  // namespace tilescope::report

// How much of a program may be compiled so far. Compiling an operation takes the time in which the
// interpreter runs kInstructionsPerOperation warp instructions. So a program compiles for at most
// about as long as it has run, but for its first operations: a small launch of a long kernel ends
// before its regions would pay.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace tilescope::emulator::compiled {

class CompilingBudget {
 public:
  static constexpr std::uint64_t kInstructionsPerOperation = 128;
  static constexpr std::uint64_t kFreeOperations = 3000;

  /// Warp instructions that have been executed, in either tier.
  void add_executed(std::uint64_t instructions) { executed_ += instructions; }
  void add_compiled(std::uint64_t operations) { compiled_ += operations; }
  /// A further region may be compiled.
  bool is_left() const {
    return compiled_ <= kFreeOperations + executed_ / kInstructionsPerOperation;
  }

 private:
  std::uint64_t executed_ = 0, compiled_ = 0;
};

/// The entries before a block is compiled that TILESCOPE_COMPILE_AFTER gives.
inline std::optional<std::uint32_t> chosen_patience() {
  const char* text = std::getenv("TILESCOPE_COMPILE_AFTER");
  const long given = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  if (given <= 0) return std::nullopt;
  return static_cast<std::uint32_t>(std::min(given, 1'000'000L));
}

}  // namespace tilescope::emulator::compiled

// Memory for compiled code: written once, executable afterwards, never both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tilescope::emulator::compiled {

class CodeMemory {
 public:
  CodeMemory() = default;
  /// Copies the code to pages of its own, from a cache line on that depends on the code's number.
  /// Empty when the system refuses.
  CodeMemory(std::span<const std::uint8_t> code, std::size_t number);
  CodeMemory(CodeMemory&& other) noexcept
      : pages_(std::exchange(other.pages_, nullptr)), begin_(other.begin_), bytes_(other.bytes_) {}
  CodeMemory& operator=(CodeMemory&&) = delete;
  ~CodeMemory();

  /// Null where it is empty.
  const std::uint8_t* data() const {
    return pages_ == nullptr ? nullptr : static_cast<const std::uint8_t*>(pages_) + begin_;
  }
  std::size_t bytes() const { return pages_ == nullptr ? 0 : bytes_; }

 private:
  void* pages_ = nullptr;
  std::size_t begin_ = 0, bytes_ = 0;
};

}  // namespace tilescope::emulator::compiled

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
  /// Copies the code to pages of its own. Empty when the system refuses.
  explicit CodeMemory(std::span<const std::uint8_t> code);
  CodeMemory(CodeMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  CodeMemory& operator=(CodeMemory&&) = delete;
  ~CodeMemory();

  const void* data() const { return data_; }
  std::size_t bytes() const { return data_ == nullptr ? 0 : bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tilescope::emulator::compiled

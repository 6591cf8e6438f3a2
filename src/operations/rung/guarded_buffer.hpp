// Device memory between guards, which reveal writes beyond an output that a GPU does not detect.
#pragma once

#include <cstddef>
#include <string_view>
#include <tilescope/device.hpp>

namespace tilescope::operations {

/// `bytes` bytes at a multiple of 256, with guards before and right behind them. The emulated
/// device needs none: it stops at the first access beyond an allocation.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  GuardedBuffer(Device& device, std::size_t bytes, std::string_view name);

  DeviceAddress address() const;
  /// Throws Error(wrong_result), naming the byte, unless the guards are intact.
  void require_intact() const;

 private:
  Device* device_ = nullptr;
  std::size_t bytes_ = 0, guard_ = 0;  // guard_: bytes on either side
  Buffer buffer_;
};

}  // namespace tilescope::operations

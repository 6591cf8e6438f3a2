#include "operations/rung/guarded_buffer.hpp"

#include <fmt/format.h>

#include <array>
#include <tilescope/error.hpp>

namespace tilescope::operations {
namespace {

constexpr std::size_t guard_bytes = 256;
constexpr std::uint8_t guard_value = 0xA5;

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, std::size_t bytes, std::string_view name)
    : device_(&device),
      bytes_(bytes),
      guard_(device.kind() == DeviceKind::cuda ? guard_bytes : 0),
      buffer_(device.allocate(bytes + 2 * guard_, name)) {
  if (guard_ == 0) return;
  device.fill(buffer_.address(), guard_value, guard_);
  device.fill(address() + bytes_, guard_value, guard_);
}

DeviceAddress GuardedBuffer::address() const {
  return buffer_.address() + guard_;
}

void GuardedBuffer::require_intact() const {
  if (guard_ == 0) return;
  const auto check = [&](DeviceAddress from, std::string_view where, bool before) {
    std::array<std::uint8_t, guard_bytes> bytes{};
    device_->copy_to_host(bytes.data(), from, bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      // Reports the damaged byte nearest to the output.
      const std::size_t at = before ? bytes.size() - 1 - i : i;
      if (bytes[at] == guard_value) continue;
      throw Error(ErrorKind::wrong_result,
                  fmt::format("the byte {} {} the output of {} bytes was written to", i + 1, where,
                              bytes_));
    }
  };
  check(buffer_.address(), "before", true);
  check(address() + bytes_, "behind", false);
}

}  // namespace tilescope::operations

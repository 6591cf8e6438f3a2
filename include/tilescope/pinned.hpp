// Host memory that a device can copy from and to at the full speed of the link, asynchronously.
//
//     tilescope::PinnedBuffer staging(*device, bytes);
//     if (!staging.note().empty()) std::puts(staging.note().c_str());
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace tilescope {

class Device;

/// Page-locked host memory. Where the system refuses to lock pages it is ordinary memory:
/// everything still works, more slowly, and `note` gives the reason.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  /// Allocates `bytes` (0 is allowed) for copies with `device`.
  PinnedBuffer(Device& device, std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool pinned() const { return pinned_; }
  /// Why the memory is not pinned; empty if it is.
  const std::string& note() const { return note_; }

 private:
  void release() noexcept;

  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool pinned_ = false;
  std::string note_;
};

/// Pins memory of the caller's as long as the object lives. Where the system refuses (a limit, a
/// file mapping), nothing changes and `note` gives the reason.
class PinnedRegion {
 public:
  PinnedRegion() = default;
  PinnedRegion(Device& device, const void* data, std::size_t bytes);
  ~PinnedRegion();
  PinnedRegion(PinnedRegion&& other) noexcept;
  PinnedRegion& operator=(PinnedRegion&& other) noexcept;

  bool pinned() const { return data_ != nullptr; }
  const std::string& note() const { return note_; }

 private:
  void release() noexcept;

  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  std::string note_;
};

}  // namespace tilescope

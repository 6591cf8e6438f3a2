#include <algorithm>
#include <cstdlib>
#include <tilescope/device.hpp>
#include <tilescope/pinned.hpp>
#include <utility>

#include "base/errors.hpp"

namespace tilescope {
namespace {

constexpr std::size_t page = 4096;

void* ordinary_memory(std::size_t bytes) {
  const std::size_t rounded = std::max(page, (bytes + page - 1) / page * page);
  void* memory = std::aligned_alloc(page, rounded);
  if (!memory) {
    throw device_error("out of host memory: {} bytes for a copy buffer; use a smaller problem",
                       bytes);
  }
  return memory;
}

}  // namespace

PinnedBuffer::PinnedBuffer(Device& device, std::size_t bytes)
    : device_(device.shared_from_this()), bytes_(bytes) {
  data_ = device.allocate_host(bytes, note_);
  pinned_ = data_ != nullptr;
  if (!pinned_) data_ = ordinary_memory(bytes);
}

void PinnedBuffer::release() noexcept {
  if (data_ && pinned_) {
    device_->free_host(data_);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
}

PinnedBuffer::~PinnedBuffer() {
  release();
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept {
  *this = std::move(other);
}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  device_ = std::move(other.device_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  pinned_ = std::exchange(other.pinned_, false);
  note_ = std::move(other.note_);
  return *this;
}

PinnedRegion::PinnedRegion(Device& device, const void* data, std::size_t bytes)
    : device_(device.shared_from_this()) {
  if (bytes > 0 && device.register_host(const_cast<void*>(data), bytes, note_)) {
    data_ = const_cast<void*>(data);
  }
}

void PinnedRegion::release() noexcept {
  if (data_) device_->unregister_host(data_);
  data_ = nullptr;
}

PinnedRegion::~PinnedRegion() {
  release();
}

PinnedRegion::PinnedRegion(PinnedRegion&& other) noexcept {
  *this = std::move(other);
}

PinnedRegion& PinnedRegion::operator=(PinnedRegion&& other) noexcept {
  if (this == &other) return *this;
  release();
  device_ = std::move(other.device_);
  data_ = std::exchange(other.data_, nullptr);
  note_ = std::move(other.note_);
  return *this;
}

}  // namespace tilescope

#include "emulator/memory_map.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/errors.hpp"
#include "emulator/address_space.hpp"

namespace tilescope::emulator {

Allocation::Allocation(std::uint64_t address, std::uint64_t bytes, std::string name,
                       AllocationKind kind)
    : address_(address),
      bytes_(bytes),
      name_(std::move(name)),
      kind_(kind),
      whole_(bytes == 0 || kind == AllocationKind::device_heap) {
  // calloc returns zeros, for large sizes without touching the pages.
  data_.reset(static_cast<std::uint8_t*>(std::calloc(bytes == 0 ? 1 : bytes, 1)));
  if (!data_) {
    throw device_error("this machine has no {} bytes left for '{}'", bytes, name_);
  }
}

void Allocation::Free::operator()(std::uint8_t* p) const {
  std::free(p);
}

bool Allocation::initialised(std::uint64_t offset, std::uint64_t bytes) const {
  return whole_ || (initialised_.size() != 0 && initialised_.all(offset, bytes));
}

void Allocation::mark_initialised(std::uint64_t offset, std::uint64_t bytes) {
  if (whole_ || offset >= bytes_) return;
  bytes = std::min(bytes, bytes_ - offset);
  if (bytes != bytes_) {
    if (initialised_.size() == 0) initialised_.reset(bytes_);
    initialised_bytes_ += bytes - initialised_.count(offset, bytes);
    initialised_.set(offset, bytes);
    if (initialised_bytes_ != bytes_) return;
  }
  whole_ = true;
  initialised_.release();
}

void Allocation::copy_initialised(std::uint64_t offset, const Allocation& from,
                                  std::uint64_t from_offset, std::uint64_t bytes) {
  if (from.initialised(from_offset, bytes)) return mark_initialised(offset, bytes);
  const ByteFlags own = &from == this ? initialised_ : ByteFlags{};
  const ByteFlags& source = &from == this ? own : from.initialised_;
  if (initialised_.size() == 0) initialised_.reset(bytes_);
  if (whole_) initialised_.set(0, initialised_bytes_ = bytes_);
  whole_ = false;
  initialised_bytes_ -= initialised_.count(offset, bytes);
  if (source.size() == 0) {
    initialised_.clear(offset, bytes);
  } else {
    initialised_.copy(offset, source, from_offset, bytes);
  }
  initialised_bytes_ += initialised_.count(offset, bytes);
}

MemoryMap::MemoryMap(std::uint64_t capacity) : next_constant_(kConstantBase), capacity_(capacity) {}

std::uint64_t MemoryMap::allocate(std::uint64_t bytes, std::string_view name, AllocationKind kind) {
  if (bytes > capacity_ || used_ > capacity_ - bytes) {
    throw device_error(
        "allocating {} bytes for '{}' exceeds the device's memory: {} of {} bytes are in use",
        bytes, name, used_, capacity_);
  }
  std::uint64_t& next = kind == AllocationKind::constant_variable ? next_constant_ : next_;
  const std::uint64_t address = next;
  const std::uint64_t padded = (bytes + kGuardBytes + kAllocationAlignment - 1) /
                               kAllocationAlignment * kAllocationAlignment;
  allocations_.try_emplace(address, address, bytes, std::string(name), kind);
  next += padded;
  used_ += bytes;
  return address;
}

void MemoryMap::free(std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) {
    throw usage_error("freeing {:#x}, which is not the start of an allocation", address);
  }
  used_ -= found->second.bytes();
  freed_[address] = {found->second.bytes(), found->second.name()};
  allocations_.erase(found);
  constexpr std::size_t kRemembered = 1024;
  if (freed_.size() > kRemembered) freed_.erase(freed_.begin());
}

Allocation* MemoryMap::find(std::uint64_t address, std::uint64_t bytes) {
  return const_cast<Allocation*>(std::as_const(*this).find(address, bytes));
}

const Allocation* MemoryMap::find(std::uint64_t address, std::uint64_t bytes) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const Allocation& candidate = std::prev(after)->second;
  const std::uint64_t offset = address - candidate.address();
  if (offset > candidate.bytes() || bytes > candidate.bytes() - offset) return nullptr;
  return &candidate;
}

MemoryMap::Miss MemoryMap::nearest(std::uint64_t address, std::uint64_t bytes) const {
  const auto dead = freed_.upper_bound(address);
  if (dead != freed_.begin()) {
    const auto& [start, freed] = *std::prev(dead);
    if (address - start < freed.bytes) {
      return {freed.name, freed.bytes, static_cast<std::int64_t>(address - start), true};
    }
  }
  // The nearer of the neighbours, unless it is too far away to be meant.
  constexpr std::uint64_t kNear = std::uint64_t{1} << 32;
  Miss best;
  std::uint64_t best_distance = kNear;
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const Allocation& before = std::prev(after)->second;
    const std::uint64_t end = before.address() + before.bytes();
    const std::uint64_t past = address + bytes - end;  // an access may begin inside
    if (past < best_distance) {
      best_distance = past;
      best = {before.name(), before.bytes(), static_cast<std::int64_t>(past), false};
    }
  }
  if (after != allocations_.end()) {
    const Allocation& behind = after->second;
    const std::uint64_t ahead = behind.address() - address;
    if (ahead < best_distance) {
      best = {behind.name(), behind.bytes(), -static_cast<std::int64_t>(ahead), false};
    }
  }
  return best;
}

void MemoryMap::mark_all_initialised() {
  for (auto& [address, allocation] : allocations_) {
    allocation.mark_initialised(0, allocation.bytes());
  }
}

bool MemoryMap::all_initialised() const {
  return std::all_of(allocations_.begin(), allocations_.end(),
                     [](const auto& entry) { return entry.second.fully_initialised(); });
}

}  // namespace tilescope::emulator

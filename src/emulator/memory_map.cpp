#include "emulator/memory_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tilescope/error.hpp>
#include <utility>

#include "base/host_pages.hpp"
#include "emulator/address_space.hpp"

namespace tilescope::emulator {
namespace {

[[noreturn]] void throw_no_memory(std::uint64_t bytes, std::string_view name) {
  throw Error(ErrorKind::no_device,
              fmt::format("this machine has no {} bytes left for '{}'", bytes, name));
}

/// Sizes that take large pages. Of a larger array a kernel may touch a word here and there, where
/// each would cost a large page.
constexpr std::uint64_t kLeastLarge = std::uint64_t{2} << 20, kMostLarge = std::uint64_t{256} << 20;

}  // namespace

Storage Storage::on_heap(std::uint64_t bytes, std::string_view name) {
  if (bytes >= kLeastLarge && bytes <= kMostLarge) {
    Storage storage(allocate_large_pages(bytes), Owner::large_pages, bytes);
    if (storage.data_ == nullptr) throw_no_memory(bytes, name);
    return storage;
  }
  // calloc returns zeros, for large sizes without touching the pages.
  Storage storage(std::calloc(bytes == 0 ? 1 : bytes, 1), Owner::heap, bytes);
  if (storage.data_ == nullptr) throw_no_memory(bytes, name);
  return storage;
}

Storage Storage::of_pages(std::uint64_t bytes, std::string_view name) {
  Storage storage(allocate_pages(bytes), Owner::pages, bytes);
  if (storage.data_ == nullptr) throw_no_memory(bytes, name);
  return storage;
}

Storage::~Storage() {
  if (owner_ == Owner::heap) std::free(data_);
  if (owner_ == Owner::pages) free_pages(data_, bytes_);
  if (owner_ == Owner::large_pages) free_large_pages(data_, bytes_);
}

Allocation::Allocation(std::uint64_t address, std::uint64_t bytes, std::string name,
                       AllocationKind kind, Storage storage)
    : address_(address),
      bytes_(bytes),
      name_(std::move(name)),
      kind_(kind),
      storage_(std::move(storage)),
      record_{bytes == 0 || kind == AllocationKind::device_heap || is_host_memory(), {}, 0} {}

bool Allocation::initialised(std::uint64_t offset, std::uint64_t bytes) const {
  return record_.whole || (record_.flags.size() != 0 && record_.flags.all(offset, bytes));
}

std::uint64_t Allocation::initialised_in(std::uint64_t offset, std::uint64_t bytes) const {
  if (record_.whole) return bytes;
  return record_.flags.size() == 0 ? 0 : record_.flags.count(offset, bytes);
}

void Allocation::mark_initialised(std::uint64_t offset, std::uint64_t bytes) {
  if (record_.whole || offset >= bytes_) return;
  bytes = std::min(bytes, bytes_ - offset);
  if (bytes != bytes_) {
    if (record_.flags.size() == 0) record_.flags.reset(bytes_);
    record_.bytes += bytes - record_.flags.count(offset, bytes);
    record_.flags.set(offset, bytes);
    if (record_.bytes != bytes_) return;
  }
  record_.whole = true;
  record_.flags.release();
}

void Allocation::copy_initialised(std::uint64_t offset, const Allocation& from,
                                  std::uint64_t from_offset, std::uint64_t bytes) {
  if (is_host_memory()) return;
  if (from.initialised(from_offset, bytes)) return mark_initialised(offset, bytes);
  const ByteFlags own = &from == this ? record_.flags : ByteFlags{};
  const ByteFlags& source = &from == this ? own : from.record_.flags;
  if (record_.flags.size() == 0) record_.flags.reset(bytes_);
  if (record_.whole) record_.flags.set(0, record_.bytes = bytes_);
  record_.whole = false;
  record_.bytes -= record_.flags.count(offset, bytes);
  if (source.size() == 0) {
    record_.flags.clear(offset, bytes);
  } else {
    record_.flags.copy(offset, source, from_offset, bytes);
  }
  record_.bytes += record_.flags.count(offset, bytes);
}

MemoryMap::MemoryMap(std::uint64_t capacity) : next_constant_(kConstantBase), capacity_(capacity) {}

std::uint64_t MemoryMap::allocate(std::uint64_t bytes, std::string_view name, AllocationKind kind) {
  return place(bytes, name, kind, 0, [&] { return Storage::on_heap(bytes, name); });
}

std::uint64_t MemoryMap::map(void* data, std::uint64_t bytes, std::string_view name) {
  // Hosts allocate at multiples of 16. A GPU would give such an array a better address.
  constexpr std::uint64_t kHostAlignment = 16;
  const std::uint64_t misalignment = reinterpret_cast<std::uint64_t>(data) % kHostAlignment;
  const std::uint64_t address = place(bytes, name, AllocationKind::host, misalignment,
                                      [data] { return Storage::borrowed(data); });
  allocations_.at(address).mark_initialised(0, bytes);
  return address;
}

std::uint64_t MemoryMap::place(std::uint64_t bytes, std::string_view name, AllocationKind kind,
                               std::uint64_t misalignment,
                               const std::function<Storage()>& storage) {
  if (bytes > capacity_ || used_ > capacity_ - bytes) {
    throw Error(ErrorKind::no_device,
                fmt::format("allocating {} bytes for '{}' exceeds the device's memory: {} of {} "
                            "bytes are in use",
                            bytes, name, used_, capacity_));
  }
  std::uint64_t& next = kind == AllocationKind::constant_variable ? next_constant_ : next_;
  const std::uint64_t address = next + misalignment;
  const std::uint64_t padded = (misalignment + bytes + kGuardBytes + kAllocationAlignment - 1) /
                               kAllocationAlignment * kAllocationAlignment;
  if (next > kGlobalEnd - padded) {
    throw Error(
        ErrorKind::no_device,
        fmt::format("the addresses of device memory are used up at '{}' of {} bytes", name, bytes));
  }
  allocations_.try_emplace(address, address, bytes, std::string(name), kind, storage());
  next += padded;
  used_ += bytes;
  return address;
}

std::uint64_t MemoryMap::allocate_shared(std::uint64_t bytes, std::string_view name,
                                         AllocationKind kind) {
  Storage pages = Storage::of_pages(bytes, name);
  const std::uint64_t address = pages.host_address();
  forget_freed(address, bytes);
  allocations_.try_emplace(address, address, bytes, std::string(name), kind, std::move(pages));
  return address;
}

void MemoryMap::adopt(void* data, std::uint64_t bytes, std::string_view name) {
  Storage borrowed = Storage::borrowed(data);
  const std::uint64_t address = borrowed.host_address();
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorKind::usage, fmt::format("'{}' of {} bytes at {:#x} cannot be registered: {}",
                                              name, bytes, address, why));
  };
  if (bytes == 0 || bytes > ~address) refuse("it is empty");
  const std::uint64_t last = address + bytes - 1;
  const bool nameable = resolve_generic(address).space == Space::global &&
                        resolve_generic(last).space == Space::global;
  if (!nameable || (address < kGlobalEnd && last >= kGlobalBase)) {
    refuse("the device has other memory at that address");
  }
  const auto after = allocations_.upper_bound(last);
  if (after != allocations_.begin()) {
    const Allocation& before = std::prev(after)->second;
    const std::uint64_t end = before.address() + std::max<std::uint64_t>(before.bytes(), 1);
    if (end > address) refuse(fmt::format("'{}' is part of it already", before.name()));
  }
  forget_freed(address, bytes);
  allocations_.try_emplace(address, address, bytes, std::string(name), AllocationKind::host,
                           std::move(borrowed));
}

Allocation MemoryMap::remove(std::uint64_t address) {
  auto node = allocations_.extract(address);
  if (node.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("freeing {:#x}, which is not the start of an allocation", address));
  }
  if (!node.mapped().is_host_memory()) used_ -= node.mapped().bytes();
  return std::move(node.mapped());
}

void MemoryMap::free(std::uint64_t address) {
  const Allocation removed = remove(address);
  freed_[address] = {removed.bytes(), removed.name()};
  constexpr std::size_t kRemembered = 1024;
  if (freed_.size() > kRemembered) freed_.erase(freed_.begin());
}

void MemoryMap::release(std::uint64_t address) {
  remove(address);
}

void MemoryMap::forget_freed(std::uint64_t address, std::uint64_t bytes) {
  auto first = freed_.upper_bound(address);
  if (first != freed_.begin() && std::prev(first)->first + std::prev(first)->second.bytes > address)
    --first;
  freed_.erase(first, freed_.lower_bound(address + bytes));
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

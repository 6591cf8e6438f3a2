#include "inspect/caller_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/errors.hpp"
#include "device/emulated/emulated_device.hpp"

namespace tilescope::inspect {
namespace {

bool overlap(const CallerMemory::Piece& a, const CallerMemory::Piece& b) {
  return a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

bool contains(const CallerMemory::Piece& outer, const CallerMemory::Piece& inner) {
  return outer.data <= inner.data && inner.data + inner.bytes <= outer.data + outer.bytes &&
         (inner.is_read_only || !outer.is_read_only);
}

/// Joins pieces that overlap, in the order of their addresses.
std::vector<CallerMemory::Piece> joined(std::vector<CallerMemory::Piece> pieces) {
  std::ranges::stable_sort(pieces, {}, &CallerMemory::Piece::data);
  std::vector<CallerMemory::Piece> arrays;
  for (CallerMemory::Piece& piece : pieces) {
    if (arrays.empty() || !overlap(arrays.back(), piece)) {
      arrays.push_back(std::move(piece));
      continue;
    }
    CallerMemory::Piece& array = arrays.back();
    const std::byte* const end = std::max(array.data + array.bytes, piece.data + piece.bytes);
    array.bytes = static_cast<std::uint64_t>(end - array.data);
    array.name += ", " + piece.name;
    array.is_read_only = array.is_read_only && piece.is_read_only;
  }
  return arrays;
}

}  // namespace

CallerMemory::~CallerMemory() {
  for (const Placed& placed : placed_) {
    if (placed.buffer.address() == 0) device_.unregister_host(placed.piece.data);
  }
}

CallerMemory::Piece CallerMemory::piece_of(const LaunchArgument& argument,
                                           const std::string& name) {
  const std::uint64_t bytes = argument.count.value_or(0) * size_of(argument.type);
  if (argument.memory == nullptr && bytes > 0) {
    throw usage_error("--arg {}: its memory is null, but it has {} bytes", name, bytes);
  }
  return {static_cast<std::byte*>(argument.memory), bytes, name, argument.is_read_only};
}

const CallerMemory::Placed* CallerMemory::find(const Piece& piece) const {
  const auto found = std::ranges::find_if(
      placed_, [&](const Placed& placed) { return contains(placed.piece, piece); });
  return found == placed_.end() ? nullptr : &*found;
}

void CallerMemory::place(std::vector<Piece> pieces) {
  for (const Piece& array : joined(std::move(pieces))) {
    if (find(array) != nullptr) continue;
    for (const Placed& placed : placed_) {
      if (!overlap(placed.piece, array)) continue;
      throw usage_error("the memory of {} overlaps that of {} in part; give both the whole of it",
                        array.name, placed.piece.name);
    }
    map(array);
  }
}

void CallerMemory::map(const Piece& piece) {
  Placed placed;
  placed.piece = piece;
  auto* const emulated = dynamic_cast<device::EmulatedDevice*>(&device_);
  placed.is_copy = emulated == nullptr || piece.is_read_only;
  if (placed.is_copy) {
    placed.buffer = device_.allocate(piece.bytes, piece.name);
    device_.copy_to_device(placed.buffer.address(), piece.data, piece.bytes);
  } else {
    placed.buffer = emulated->map(piece.data, piece.bytes, piece.name);
  }
  placed.address = placed.buffer.address();
  placed_.push_back(std::move(placed));
}

void CallerMemory::keep_in_place(const LaunchArgument& argument) {
  const Piece piece = piece_of(argument, argument.name);
  std::string why_not;
  if (!device_.register_host(piece.data, piece.bytes, why_not, piece.name)) {
    throw usage_error("array {}: {}", piece.name, why_not);
  }
  placed_.push_back({.piece = piece,
                     .address = reinterpret_cast<std::uintptr_t>(piece.data),
                     .buffer = {},
                     .is_copy = false});
}

DeviceAddress CallerMemory::address_of(const LaunchArgument& argument,
                                       const std::string& name) const {
  const Piece piece = piece_of(argument, name);
  const Placed* const placed = find(piece);
  if (placed == nullptr)
    throw usage_error("--arg {}: a variable has no memory of the caller", name);
  return placed->address + static_cast<std::uint64_t>(piece.data - placed->piece.data);
}

void CallerMemory::give_back() {
  std::vector<std::byte> after;
  for (const Placed& placed : placed_) {
    if (!placed.is_copy) continue;
    const auto& [data, bytes, name, is_read_only] = placed.piece;
    if (!is_read_only) {
      device_.copy_to_host(data, placed.address, bytes);
      continue;
    }
    after.resize(bytes);
    device_.copy_to_host(after.data(), placed.address, bytes);
    if (bytes > 0 && std::memcmp(after.data(), data, bytes) != 0) {
      throw usage_error("the kernel writes {}, whose memory is read-only; give it a copy", name);
    }
  }
}

}  // namespace tilescope::inspect

// The device's global memory: named allocations in one address space, with guard gaps.
//
// Addresses are virtual (48 bits). Between any two allocations lie at least kGuardBytes of unused
// addresses, so that a small overrun never lands in a neighbour. Freed addresses are not reused
// while a record of them is kept, so that a use after free is reported as such.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "emulator/byte_flags.hpp"

namespace tilescope::emulator {

/// The begin of device memory and the gap between two allocations.
inline constexpr std::uint64_t kGlobalBase = 0x7000'0000'0000;
inline constexpr std::uint64_t kGlobalEnd = 0x7fff'ffff'ffff;
inline constexpr std::uint64_t kGuardBytes = 4096;
inline constexpr std::uint64_t kAllocationAlignment = 512;

/// The origin of an allocation, for the wording of reports.
enum class AllocationKind : std::uint8_t { host, module_variable, device_heap, constant_variable };

class Allocation {
 public:
  Allocation(std::uint64_t address, std::uint64_t bytes, std::string name, AllocationKind kind);

  std::uint64_t address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  AllocationKind kind() const { return kind_; }
  std::uint8_t* data() { return data_.get(); }
  const std::uint8_t* data() const { return data_.get(); }

  // The record of bytes that hold defined values: written by the host, initialised by the module,
  // or marked by an observer that tracks initialisation. The kernel heap counts as defined: its
  // pieces change hands.

  /// Every byte of the range, which must lie within the allocation.
  bool initialised(std::uint64_t offset, std::uint64_t bytes) const;
  /// The number of such bytes in the range.
  std::uint64_t initialised_in(std::uint64_t offset, std::uint64_t bytes) const;
  bool fully_initialised() const { return whole_; }
  /// Bytes past the end are left out.
  void mark_initialised(std::uint64_t offset, std::uint64_t bytes);
  /// The bytes have been copied from another place: they are as defined as those are.
  void copy_initialised(std::uint64_t offset, const Allocation& from, std::uint64_t from_offset,
                        std::uint64_t bytes);

 private:
  struct Free {
    void operator()(std::uint8_t* p) const;
  };
  std::uint64_t address_;
  std::uint64_t bytes_;
  std::string name_;
  AllocationKind kind_;
  std::unique_ptr<std::uint8_t[], Free> data_;
  bool whole_;                           ///< every byte is initialised, and `initialised_` empty
  ByteFlags initialised_;                ///< empty as long as no byte is
  std::uint64_t initialised_bytes_ = 0;  ///< flags that are set there
};

/// Not thread-safe against itself: allocate and free happen between launches (the kernel heap is an
/// allocation of its own); lookups during a launch are concurrent reads.
class MemoryMap {
 public:
  explicit MemoryMap(std::uint64_t capacity);

  /// Throws no_device when the capacity of the GPU is exceeded. 0 bytes give a valid address too.
  std::uint64_t allocate(std::uint64_t bytes, std::string_view name,
                         AllocationKind kind = AllocationKind::host);
  /// Throws usage when `address` is not the start of an allocation.
  void free(std::uint64_t address);

  /// The allocation that holds [address, address + bytes), or null.
  Allocation* find(std::uint64_t address, std::uint64_t bytes = 1);
  const Allocation* find(std::uint64_t address, std::uint64_t bytes = 1) const;

  /// The allocation nearest to an address that lies in none, and the distance of the access of
  /// `bytes`: > 0 bytes past the end, < 0 before the start. `freed`: the address lies in freed
  /// memory, and `distance` is the one from its start.
  struct Miss {
    std::string_view name;
    std::uint64_t bytes = 0;
    std::int64_t distance = 0;
    bool freed = false;
  };
  Miss nearest(std::uint64_t address, std::uint64_t bytes) const;

  /// All allocations by ascending address.
  const std::map<std::uint64_t, Allocation>& allocations() const { return allocations_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t capacity() const { return capacity_; }
  void mark_all_initialised();
  bool all_initialised() const;

 private:
  struct Freed {
    std::uint64_t bytes;
    std::string name;
  };
  std::map<std::uint64_t, Allocation> allocations_;
  std::map<std::uint64_t, Freed> freed_;
  std::uint64_t next_ = kGlobalBase;
  std::uint64_t next_constant_;
  std::uint64_t used_ = 0;
  std::uint64_t capacity_;
};

}  // namespace tilescope::emulator

// The device's global memory: named allocations in one address space, with guard gaps.
//
// Addresses are virtual (48 bits). Between any two allocations lie at least kGuardBytes of unused
// addresses, so that a small overrun never lands in a neighbour. Freed addresses are not reused
// while a record of them is kept, so that a use after free is reported as such.
//
// Memory that the host reaches too (managed, pinned, registered) has its host address. It takes
// nothing of the device's capacity and always counts as initialised, since nobody sees the host's
// writes. A caller's memory can also be mapped to an address of the device, for one launch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "emulator/byte_flags.hpp"

namespace tilescope::emulator {

/// The window of device memory, where Linux puts no memory of a process, and the gap between two
/// allocations.
inline constexpr std::uint64_t kGlobalBase = 0x7000'0000'0000;
inline constexpr std::uint64_t kGlobalEnd = 0x7a00'0000'0000;
inline constexpr std::uint64_t kGuardBytes = 4096;
inline constexpr std::uint64_t kAllocationAlignment = 512;

/// The origin of an allocation, for the wording of reports.
enum class AllocationKind : std::uint8_t { host, module_variable, device_heap, constant_variable };

/// The memory behind an allocation.
class Storage {
 public:
  /// Each of `bytes` bytes of zeros; their pages are taken when touched. Throws no_device, naming
  /// the allocation, when the host has no more.
  static Storage on_heap(std::uint64_t bytes, std::string_view name);
  static Storage of_pages(std::uint64_t bytes, std::string_view name);
  /// Somebody else's memory.
  static Storage borrowed(void* data) { return Storage(data, Owner::other, 0); }

  Storage(Storage&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), owner_(other.owner_), bytes_(other.bytes_) {}
  Storage& operator=(Storage&&) = delete;
  ~Storage();
  std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }
  std::uint64_t host_address() const { return reinterpret_cast<std::uint64_t>(data_); }

 private:
  enum class Owner : std::uint8_t { heap, pages, large_pages, other };
  Storage(void* data, Owner owner, std::uint64_t bytes)
      : data_(data), owner_(owner), bytes_(bytes) {}

  void* data_;
  Owner owner_;
  std::uint64_t bytes_;
};

class Allocation {
 public:
  Allocation(std::uint64_t address, std::uint64_t bytes, std::string name, AllocationKind kind,
             Storage storage);

  std::uint64_t address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  AllocationKind kind() const { return kind_; }
  std::uint8_t* data() { return storage_.data(); }
  const std::uint8_t* data() const { return storage_.data(); }
  /// The host reaches the memory too, at the same address.
  bool is_host_memory() const { return storage_.host_address() == address_; }

  // The record of bytes that hold defined values: written by the host, initialised by the module,
  // or marked by an observer that tracks initialisation. The kernel heap counts as defined: its
  // pieces change hands.

  /// Every byte of the range, which must lie within the allocation.
  bool initialised(std::uint64_t offset, std::uint64_t bytes) const;
  /// The number of such bytes in the range.
  std::uint64_t initialised_in(std::uint64_t offset, std::uint64_t bytes) const;
  bool fully_initialised() const { return record_.whole; }
  /// Bytes past the end are left out.
  void mark_initialised(std::uint64_t offset, std::uint64_t bytes);
  /// The bytes have been copied from another place: they are as defined as those are.
  void copy_initialised(std::uint64_t offset, const Allocation& from, std::uint64_t from_offset,
                        std::uint64_t bytes);
  /// The whole record.
  struct Initialisation {
    bool whole;           ///< every byte is initialised, and `flags` empty
    ByteFlags flags;      ///< empty as long as no byte is
    std::uint64_t bytes;  ///< flags that are set there
  };
  const Initialisation& initialisation() const { return record_; }
  void set_initialisation(const Initialisation& record) { record_ = record; }

 private:
  std::uint64_t address_;
  std::uint64_t bytes_;
  std::string name_;
  AllocationKind kind_;
  Storage storage_;
  Initialisation record_;
};

/// Not thread-safe against itself: allocate and free happen between launches (the kernel heap is an
/// allocation of its own); lookups during a launch are concurrent reads.
class MemoryMap {
 public:
  explicit MemoryMap(std::uint64_t capacity);

  /// Throws no_device when the capacity of the GPU is exceeded. 0 bytes give a valid address too.
  std::uint64_t allocate(std::uint64_t bytes, std::string_view name,
                         AllocationKind kind = AllocationKind::host);
  /// Allocates whole pages that the host reaches at the same address.
  std::uint64_t allocate_shared(std::uint64_t bytes, std::string_view name,
                                AllocationKind kind = AllocationKind::host);
  /// Makes the caller's memory an allocation at its own address. Throws usage when there are no
  /// bytes, when part of it is one already, or when a kernel could not name its address.
  void adopt(void* data, std::uint64_t bytes, std::string_view name);
  /// Makes the caller's memory an allocation at a device address, between guard gaps. It counts as
  /// initialised, and is as far from a multiple of 16 as on the host. Throws as allocate().
  std::uint64_t map(void* data, std::uint64_t bytes, std::string_view name);
  /// Ends an allocation. Throws usage when `address` is not the start of one.
  void free(std::uint64_t address);
  /// Ends an adopted one, whose memory stays the host's.
  void release(std::uint64_t address);

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
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  void mark_all_initialised();
  bool all_initialised() const;

 private:
  struct Freed {
    std::uint64_t bytes;
    std::string name;
  };
  std::uint64_t place(std::uint64_t bytes, std::string_view name, AllocationKind kind,
                      std::uint64_t misalignment, const std::function<Storage()>& storage);
  Allocation remove(std::uint64_t address);
  /// The addresses are in use again.
  void forget_freed(std::uint64_t address, std::uint64_t bytes);

  std::map<std::uint64_t, Allocation> allocations_;
  std::map<std::uint64_t, Freed> freed_;
  std::uint64_t next_ = kGlobalBase;
  std::uint64_t next_constant_;
  std::uint64_t used_ = 0;
  std::uint64_t capacity_;
};

}  // namespace tilescope::emulator

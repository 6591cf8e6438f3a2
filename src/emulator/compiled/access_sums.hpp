// The accesses of a region that observers take added up (emulator/access_sum.hpp), and the state of
// a host thread that counts them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/access_sum.hpp"
#include "emulator/code.hpp"

namespace tilescope::emulator::compiled {

/// `place`: the lowest block and warp so far, as one number.
inline constexpr std::uint64_t kNoPlace = ~std::uint64_t{0};
struct SumEntry {
  std::uint64_t times = 0;
  std::uint64_t place = kNoPlace;
};

struct SummedAccess {
  const Code* code = nullptr;
  Space space = Space::global;
  AccessKind kind = AccessKind::load;
  std::int64_t offset = 0;  ///< that the instruction adds to the address
  AccessShape shape = AccessShape::scattered;
  int address_place = 0;  ///< of the slot: dense_place; kNoSlot: the address is known
  std::uint64_t address = 0;
  unsigned address_bytes = 8;
  std::array<std::int64_t, kWarpSize> differences{};  ///< to the address of lane 0
};

/// Accesses that happen together, and whose costs depend on the low bits of one address at most; or
/// both sides of a copy, the global one first, whose cost may depend on the low bits of both.
struct SumGroup {
  std::uint32_t first_entry = 0;
  std::uint64_t modulus = kSumModulus;  ///< of the address that chooses the entry
  /// Bytes between addresses of neighbouring entries, from a multiple of the modulus on. That:
  /// there is one entry only.
  std::uint64_t step = kSumModulus;
  std::int64_t lowest = 0;   ///< offset of the instruction whose address chooses the entry
  std::uint32_t halves = 1;  ///< 2: an entry for each half of a sector on a copy's shared side
  bool copies = false;
  std::vector<SummedAccess> accesses;

  std::uint32_t entries() const { return static_cast<std::uint32_t>(modulus / step) * halves; }
};
inline constexpr std::uint64_t kHalfSector = 16;  ///< bytes

/// The sum of an entry's accesses, with any addresses that are congruent to theirs.
AccessSum sum_of(const SummedAccess& access, const SumGroup& group, std::uint32_t entry,
                 std::uint64_t times);

/// Bytes that an access, or several through one register, read or write.
struct MarkGroup {
  struct Run {
    std::int64_t offset = 0;  ///< from the first run
    std::uint64_t bytes = 0;
  };
  bool write = false;
  std::uint32_t bounds = 0;  ///< index of the AccessBounds of the accesses
  std::vector<Run> runs;     ///< ascending and apart
};

/// The groups that the code of a region refers to by their addresses.
struct RegionSums {
  std::vector<std::unique_ptr<const SumGroup>> groups;
  std::vector<std::unique_ptr<const MarkGroup>> marks;
};

/// Numbers of a program's entries and tables.
struct SumNumbers {
  std::uint32_t entries = 0;
  std::uint32_t recent = 0;  ///< tables of addresses that have been marked
};
inline constexpr std::uint32_t kRecentAddresses = 4096;  ///< in a table

/// An entry that is not zero.
struct UsedEntry {
  const SumGroup* group;
  std::uint32_t entry;
};

}  // namespace tilescope::emulator::compiled

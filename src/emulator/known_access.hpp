// Accesses of a pattern that is known when code is compiled (Observer::takes_known_accesses).
//
// Compiled code knows of many accesses that all lanes of a warp take part and how far their
// addresses lie apart. It announces them in groups: all loads of a stretch of code before the first
// of them, and each store before it happens. Observers can then keep what they need to know of a
// pattern, by its number, and need not look at 32 addresses.
#pragma once

#include <array>
#include <vector>

#include "emulator/events.hpp"

namespace tilescope::emulator {

/// The differences between the lanes' addresses, and the bytes that each lane accesses.
struct LanePattern {
  std::uint32_t number;  ///< counts the patterns of a program from 0 on
  std::uint16_t bytes;   ///< per lane
  AccessShape shape;
  std::array<std::uint64_t, kWarpSize> differences;  ///< to the address of lane 0
};

/// A weak load or store by all lanes of a warp, each lane's address aligned to its size. Nothing is
/// at fault.
struct KnownAccess {
  InstructionId instruction = 0;
  Space space = Space::global;  ///< global or shared
  AccessKind kind = AccessKind::load;
  const LanePattern* pattern = nullptr;
  const Code* code = nullptr;
  std::uint32_t base = 0;    ///< which of KnownGroup::bases
  std::uint64_t offset = 0;  ///< from it to the address of lane 0
};

/// An address that several accesses of a group refer to, in compiled code's terms.
struct KnownBase {
  int slot = 0;
  std::uint64_t address = 0;  ///< without a slot
  std::uint64_t mask = 0;     ///< of the addresses: 4 or 8 bytes of ones
};

/// Accesses that are announced together, in the order in which they happen.
struct KnownGroup {
  std::uint32_t number = 0;  ///< counts the groups of a program from 0 on
  std::vector<KnownAccess> accesses;
  std::vector<KnownBase> bases;
};

/// Those of a group by a warp.
struct KnownAccesses {
  const KnownGroup& group;
  const std::uint64_t* bases;  ///< the values of KnownGroup::bases
  std::uint32_t warp;
  Context* context;

  /// The address of lane 0 of an access.
  std::uint64_t address(const KnownAccess& access) const {
    return (bases[access.base] + access.offset) & group.bases[access.base].mask;
  }
  /// One of them as a single event; `addresses` receives those of its lanes. Its pattern is 0.
  Access single(std::size_t which, std::uint64_t* addresses) const {
    const KnownAccess& access = group.accesses[which];
    const std::uint64_t first = address(access);
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
      addresses[lane] = first + access.pattern->differences[lane];
    }
    return {access.instruction,
            warp,
            ~LaneMask{0},
            access.pattern->bytes,
            access.space,
            access.kind,
            access.pattern->shape,
            MemoryOrder::weak,
            Scope::none,
            0,
            addresses,
            context,
            access.code};
  }
};

}  // namespace tilescope::emulator

// Accesses of a pattern that is known when code is compiled (Observer::takes_known_accesses).
//
// Compiled code knows of many accesses that all lanes of a warp take part and how far their
// addresses lie apart. It announces them in groups: all loads of a stretch of code before the first
// of them, and each store before it happens. Observers can then keep what they need to know of a
// pattern, by its number, and need not look at 32 addresses.
#pragma once

#include <array>
#include <span>

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
  // The address of lane 0, in compiled code's terms:
  int address_slot = 0;
  unsigned address_bytes = 8;
  std::uint64_t address = 0;
};

/// Accesses of a warp, in the order in which they happen.
struct KnownAccesses {
  std::span<const KnownAccess> accesses;
  const std::uint64_t* bases;  ///< by access: the address of lane 0
  std::uint32_t warp;
  Context* context;

  /// One of them as a single event; `addresses` receives those of its lanes. Its pattern is 0.
  Access single(std::size_t which, std::uint64_t* addresses) const {
    const KnownAccess& access = accesses[which];
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
      addresses[lane] = bases[which] + access.pattern->differences[lane];
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

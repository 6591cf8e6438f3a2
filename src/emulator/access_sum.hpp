// Accesses that the emulator adds up instead of announcing each (Observer::sums).
//
// Compiled code knows of many accesses that all lanes of a warp take part and how far their
// addresses lie apart. What such an access costs then depends on little more: on the lowest bits of
// one address. So accesses alike are only counted, and two events tell of them:
//
//     first_access    before an access in a warp or block lower than all those before alike, in the
//                     order of all other events; its pattern is 0. `Lower`: the block's linear
//                     index, then the warp. An example for each kind of access comes out of these,
//                     the same for any number of host threads.
//                     A copy has two: of its global side and of its shared side.
//     access_sum      the number of accesses alike, from any host thread's blocks at a time
//
// TouchedBytes keeps which bytes they touch. Other accesses come by access() as usual, also
// those of the same instruction.
#pragma once

#include <array>

#include "emulator/events.hpp"

namespace tilescope::emulator {

/// Addresses of accesses alike differ by a multiple of this, in the same space. Where all lanes
/// have one address, they may differ by any multiple of the access's size, up to this.
inline constexpr std::uint64_t kSumModulus = 32;

/// The same for the global side of copies past the L1 cache, whose lines count.
inline constexpr std::uint64_t kCopyModulus = 128;

/// Accesses alike by one instruction: weak loads or stores by all lanes of a warp, each lane's
/// address aligned to its size. A copy to shared memory (cp.async) is one access with two sides.
struct AccessSum {
  InstructionId instruction;
  std::uint16_t bytes;  ///< per lane
  Space space;          ///< global or shared
  AccessKind kind;      ///< load, store, or async_store for a copy
  /// One per lane. Those of the accesses are as far apart, and congruent (see kSumModulus).
  std::array<std::uint64_t, kWarpSize> addresses;
  /// Those of a copy's global side (see kCopyModulus).
  std::array<std::uint64_t, kWarpSize> sources;
  std::uint64_t times;
};

}  // namespace tilescope::emulator

// The windows of the 48-bit generic address space, and how a generic address names a space.
#pragma once

#include <cstdint>

#include "emulator/events.hpp"

namespace tilescope::emulator {

/// Offsets in shared, local and parameter space become generic addresses by adding the window's
/// base; global and constant addresses are generic already. The windows lie far apart, so that a
/// wild offset does not turn one space into another.
inline constexpr std::uint64_t kWindowBytes = 1ull << 32;
inline constexpr std::uint64_t kSharedWindow = 0x1000'0000'0000;
inline constexpr std::uint64_t kLocalWindow = 0x2000'0000'0000;
inline constexpr std::uint64_t kParameterWindow = 0x3000'0000'0000;
inline constexpr std::uint64_t kConstantBase = 0x4000'0000'0000;
inline constexpr std::uint64_t kConstantEnd = 0x4001'0000'0000;
/// Shared memory of a block of the cluster, by rank: (rank + 1) * kRankBytes + offset. An address
/// below kRankBytes is the block's own. The same holds within the generic window.
inline constexpr std::uint64_t kRankBytes = 1ull << 24;
/// Addresses can name ranks up to this one, more than clusters have; beyond they are wild.
inline constexpr std::uint32_t kLastRank = 126;
/// The "address" of function number i is kFunctionBase + i * kFunctionStride.
inline constexpr std::uint64_t kFunctionBase = 0x5000'0000'0000;
inline constexpr std::uint64_t kFunctionStride = 16;

constexpr std::uint64_t cluster_address(std::uint32_t rank, std::uint64_t offset) {
  return (std::uint64_t{rank} + 1) * kRankBytes + offset;
}
/// The rank and the offset that an address in shared memory names.
struct SharedPlace {
  std::uint32_t rank;
  std::uint64_t offset;
};
constexpr SharedPlace shared_place(std::uint64_t address, std::uint32_t own_rank) {
  if (address < kRankBytes) return {own_rank, address};
  return {static_cast<std::uint32_t>(address / kRankBytes - 1), address % kRankBytes};
}

struct ResolvedAddress {
  Space space;
  std::uint64_t address;  ///< as in Access::addresses
};

/// Every address outside the other windows counts as global, as on the chip.
constexpr ResolvedAddress resolve_generic(std::uint64_t address) {
  if (address - kSharedWindow < kWindowBytes) return {Space::shared, address - kSharedWindow};
  if (address - kLocalWindow < kWindowBytes) return {Space::local, address - kLocalWindow};
  if (address - kParameterWindow < kWindowBytes) {
    return {Space::parameter, address - kParameterWindow};
  }
  if (address >= kConstantBase && address < kConstantEnd) return {Space::constant, address};
  return {Space::global, address};
}

}  // namespace tilescope::emulator

// The thread of an access to a memory cell, in 32 bits, and the cell's record of its recent
// accesses.
#pragma once

#include <cstdint>

#include "emulator/events.hpp"

namespace tilescope::observe {

enum class AccessVerb : std::uint8_t { read, write, atomic };

/// The part of an access in a race. Two atomic accesses never race: the hardware does one after the
/// other, whole. Whether volatile ones do depends on what they are for (volatile_races.hpp).
enum class Strength : std::uint8_t {
  plain,
  volatile_,
  atomic,   ///< atomic operations; relaxed, acquire and release
  pending,  ///< a cp.async that was not waited for
};

/// Names the word at an address of shared or global memory.
inline std::uint64_t word_at(emulator::Space space, std::uint64_t address) {
  return (address & ~std::uint64_t{3}) | (space == emulator::Space::shared ? 1 : 0);
}

/// Instruction, thread of the block, strength.
struct AccessTag {
  static constexpr std::uint32_t kMostInstructions = 1u << 20;
  static constexpr std::uint32_t kWarpBits = 31u << 7, kLaneBits = 31u << 2, kThreadBits = 0xfff;
  std::uint32_t bits = 0;

  static AccessTag of(std::uint32_t instruction, std::uint32_t warp, int lane, Strength strength) {
    const std::uint32_t id = instruction < kMostInstructions ? instruction : kMostInstructions - 1;
    return {id << 12 | (warp & 31) << 7 | static_cast<std::uint32_t>(lane) << 2 |
            static_cast<std::uint32_t>(strength)};
  }
  std::uint32_t instruction() const { return bits >> 12; }
  std::uint32_t thread() const { return bits >> 2 & 1023; }
  std::uint32_t warp() const { return bits >> 7 & 31; }
  int lane() const { return static_cast<int>(bits >> 2 & 31); }
  /// Thread and strength.
  std::uint32_t thread_bits() const { return bits & kThreadBits; }
  Strength strength() const { return static_cast<Strength>(bits & 3); }
};

inline bool is_strong(AccessTag tag) {
  return tag.strength() == Strength::volatile_ || tag.strength() == Strength::atomic;
}

/// Whether both are strong, and not both atomic.
inline bool is_volatile_pair(AccessTag a, AccessTag b) {
  return is_strong(a) && is_strong(b) &&
         (a.strength() == Strength::volatile_ || b.strength() == Strength::volatile_);
}

/// An access and its time (BlockOrder's).
struct Event {
  std::uint32_t time = 0;
  AccessTag tag;
};

/// The recorded accesses of a word (or, where a block accesses single bytes, of a byte). Two
/// readers are enough: a later writer differs from at least one of them, and the second is of
/// another warp than the first if there is one.
struct alignas(32) Cell {
  Event write;   ///< the last plain, volatile or pending write
  Event atomic;  ///< the last atomic
  Event reader[2];
};

}  // namespace tilescope::observe

// The arithmetic of atomic updates, for atom, red and the reductions of bulk copies.
#pragma once

#include <cstdint>

#include "ptx/modifiers.hpp"

namespace tilescope::emulator {

/// Whether the result is the same in any order of the updates.
bool update_commutes(ptx::ReduceOp op, ptx::Type type);

struct AtomicUpdate {
  ptx::ReduceOp op;
  ptx::Type type;
  /// Subnormal f32 operands and results become 0: so in global memory, but not in shared.
  bool flushes = false;
  /// A NaN of f64 stays as it is, as in the reductions of bulk copies; else it becomes the usual
  /// one.
  bool keeps_nan = false;

  /// The new value for `old` with the operand `b`; cas has a third. Values are bits in the low end.
  std::uint64_t of(std::uint64_t old, std::uint64_t b, std::uint64_t third = 0) const;
  /// Replaces the `bytes` (2, 4 or 8) at `at` by it, as one step for all host threads. Returns the
  /// old value; `changes` grows if the new one differs.
  std::uint64_t apply(std::uint8_t* at, unsigned bytes, std::uint64_t& changes, std::uint64_t b,
                      std::uint64_t third = 0) const;
};

}  // namespace tilescope::emulator

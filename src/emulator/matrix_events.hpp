// The events of asynchronous matrix products (wgmma): what a warp issues, and what orders it.
#pragma once

#include <cstdint>
#include <span>

namespace tilescope::emulator {

/// A warp's part of a product. The emulator multiplies at once; a chip may read the operands until
/// the product's group has been waited for.
struct MatrixIssue {
  std::uint32_t instruction;
  std::uint32_t warp;
  std::uint32_t mask;
  /// The pieces of 16 bytes that it reads: offsets in shared memory. Those of A are the warp's own
  /// rows, and none if A is in registers.
  std::span<const std::uint32_t> a, b;
};

enum class MatrixOrdering : std::uint8_t {
  fence,   ///< earlier accesses of registers and shared memory come before later products
  commit,  ///< the products since the last commit are a group
  wait,    ///< at most `pending` of the youngest groups may still be under way
};

/// wgmma.fence, commit_group or wait_group.
struct MatrixOrder {
  std::uint32_t instruction;
  std::uint32_t warp;
  std::uint32_t mask;
  MatrixOrdering ordering;
  std::uint32_t pending;  ///< of a wait
};

}  // namespace tilescope::emulator

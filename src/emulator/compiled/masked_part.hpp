// Blocks that only some lanes of a warp run: from a branch where lanes part to the place where they
// meet again, or where all of them leave the kernel. Compiled code runs them under a mask.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/compiled/function_plan.hpp"

namespace tilescope::emulator::compiled {

struct MaskedPart {
  std::uint32_t branch = 0;  ///< the block that ends with the branch
  std::uint32_t join = 0;    ///< where the other lanes go at once
  bool ends = false;         ///< the join does nothing but leave the kernel
  bool if_taken = false;     ///< the lanes that take the branch run the blocks, not the others
  bool loop = false;         ///< the branch leads back, and is the end of the last block too
  /// It is the copy of a loop's round: lanes that go round once more leave it at its end.
  bool is_copy = false;
  std::vector<std::uint32_t> blocks;  ///< in ascending order, the first is where lanes begin
  /// The most warp instructions until the lanes meet, or the first of them leave; 0 for a loop.
  std::int32_t instructions = 0;
  RegisterSet written;  ///< registers that the blocks write
  RegisterSet kept;     ///< those of them whose other lanes are read at the join
};

/// The part behind the branch of block `b`: the body of an `if` without `else`, or further rounds
/// of a loop, or the copy of one round, without anything that may wait and other loops. Nothing:
/// there is none.
std::optional<MaskedPart> find_masked_part(const FunctionPlan& plan, std::uint32_t b);

}  // namespace tilescope::emulator::compiled

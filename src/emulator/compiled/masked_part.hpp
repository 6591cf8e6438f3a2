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
  std::vector<std::uint32_t> blocks;  ///< one behind the other
  /// Warp instructions until the lanes meet, or the first of them leave.
  std::int32_t instructions = 0;
  RegisterSet written;  ///< registers that the blocks write
  RegisterSet kept;     ///< those of them whose other lanes are read at the join
};

/// The part behind the branch of block `b`: a branch without an `else`, with nothing between that
/// may wait or part lanes again. Nothing: there is none.
std::optional<MaskedPart> find_masked_part(const FunctionPlan& plan, std::uint32_t b);

}  // namespace tilescope::emulator::compiled

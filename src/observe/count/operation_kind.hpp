// The arithmetic of an instruction, in the terms of the profiler's instruction mix.
#pragma once

#include <cstdint>
#include <tilescope/counts.hpp>

#include "ptx/instruction.hpp"

namespace tilescope::observe {

/// The operations of one instruction: `lanes` thread instructions in `warps` warp instructions (an
/// mma does the work of a whole warp), on a GPU of this compute capability, 10 times major plus
/// minor.
OperationCounts operations_of(const ptx::Instruction& instruction, std::uint64_t lanes,
                              std::uint64_t warps, unsigned capability);

}  // namespace tilescope::observe

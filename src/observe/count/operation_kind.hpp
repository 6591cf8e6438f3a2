// Which arithmetic an instruction does, in the words of the profiler's instruction mix.
#pragma once

#include <cstdint>
#include <tilescope/counts.hpp>

#include "ptx/instruction.hpp"

namespace tilescope::observe {

/// What one instruction adds: `lanes` thread instructions in `warps` warp instructions (of which an
/// mma does its work as a whole).
OperationCounts operations_of(const ptx::Instruction& instruction, std::uint64_t lanes,
                              std::uint64_t warps);

}  // namespace tilescope::observe

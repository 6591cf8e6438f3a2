// The use of shared memory by an instruction, as far as its wavefronts depend on it.
#pragma once

#include "emulator/events.hpp"
#include "gpu/shared_banks.hpp"
#include "ptx/instruction.hpp"

namespace tilescope::observe {

/// `kind`: the kind of the access that `instruction` made.
gpu::SharedUse shared_use(const ptx::Instruction& instruction, emulator::AccessKind kind);

}  // namespace tilescope::observe

// The host's memory that operations use while they wait for their turn, for the guard.
#pragma once

#include "cudart/state/primary_context.hpp"

namespace tilescope::cudart {

/// Claims the pinned and managed memory that the operation uses; numbers for HostGuard::end_work().
std::vector<std::uint64_t> claim_memory(Context& context, const Operation& operation,
                                        const inspect::HostCall& call);

}  // namespace tilescope::cudart

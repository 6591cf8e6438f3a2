// CUDA's code for what a device reports.
#pragma once

#include "cudart/state/primary_context.hpp"

namespace tilescope::cudart {

/// The code of an error that a call of the device threw. The code of a failed kernel also ends the
/// context: later calls return it too.
cudaError_t code_of(Context& context, const Error& error);

}  // namespace tilescope::cudart

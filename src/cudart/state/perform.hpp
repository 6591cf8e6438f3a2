// Queues operations in streams of the device.
#pragma once

#include "cudart/state/primary_context.hpp"

namespace tilescope::cudart {

/// Queues the operation in a stream; `call` is for reports.
void perform(Context& context, const Operation& operation, CUstream_st& stream,
             const inspect::HostCall& call);

}  // namespace tilescope::cudart

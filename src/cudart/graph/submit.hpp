// Operations that streams receive: queued, or added to the graph while the stream is captured.
#pragma once

#include "cudart/state/perform.hpp"

namespace tilescope::cudart {

/// Throws CUDA's code for an operation that the capture of a stream forbids.
void submit(Context& context, CUstream_st& stream, Operation operation);

/// For calls that wait for a stream or use it at once: throws if it is being captured, or if it is
/// the legacy stream while others are. Such a call spoils the capture.
void require_no_capture(Context& context, const CUstream_st& stream);

}  // namespace tilescope::cudart

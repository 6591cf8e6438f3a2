// Operations that streams receive: queued, or added to the graph while the stream is captured.
#pragma once

#include "cudart/state/stream_operation.hpp"

namespace tilescope::cudart {

void submit(Context& context, CUstream_st& stream, Operation operation);

}  // namespace tilescope::cudart

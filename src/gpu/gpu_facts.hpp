// Rates and latencies of today's GPUs that no device query tells.
#pragma once

#include <tilescope/gpu/gpu_table.hpp>

namespace tilescope::gpu {

/// Appends the tensor-core rates and the latencies that are published for the GPU called
/// `gpu.name`, each with its source. A level that nobody measured stays out.
void add_facts(Gpu& gpu);

}  // namespace tilescope::gpu

// Rates and latencies of today's GPUs that a device query does not return.
#pragma once

#include <tilescope/gpu/gpu_table.hpp>

namespace tilescope::gpu {

/// Appends the tensor-core rates and the latencies published for the GPU called `gpu.name`, each
/// with its source. Levels without a published measurement are left out.
void add_facts(Gpu& gpu);

}  // namespace tilescope::gpu

// The limits of a launch on the device, with CUDA's code for each that is exceeded.
#pragma once

#include "cudart/state/primary_context.hpp"
#include "tilescope/gpu/occupancy.hpp"

namespace tilescope::cudart {

/// Throws cudaErrorInvalidValue, cudaErrorLaunchOutOfResources, cudaErrorInvalidClusterSize or
/// cudaErrorCooperativeLaunchTooLarge for a launch that the device forbids.
void require_launchable(Context& context, const LoadedKernel& kernel, const Launch& launch);

/// Blocks of the kernel that an SM holds at once. Throws cudaErrorInvalidValue for no threads.
gpu::Occupancy occupancy_of(Context& context, const LoadedKernel& kernel, std::int64_t threads,
                            std::size_t dynamic_shared_bytes);

}  // namespace tilescope::cudart

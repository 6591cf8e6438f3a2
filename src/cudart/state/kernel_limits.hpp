// The limits of a launch on the device, with CUDA's code for each that is exceeded.
#pragma once

#include <optional>

#include "cudart/state/primary_context.hpp"
#include "tilescope/gpu/occupancy.hpp"

namespace tilescope::cudart {

/// The clusters of a launch that asks for `given`, or for none: those that the kernel requires.
/// Throws cudaErrorInvalidClusterSize for clusters that the kernel, the device or the grid forbids.
Dim3 cluster_of(const LoadedKernel& kernel, const std::optional<Dim3>& given, const Dim3& grid);

/// How many clusters of that many blocks the device holds at once, each in one of the groups of SMs
/// that can form clusters.
std::int64_t resident_clusters(Context& context, const LoadedKernel& kernel, std::int64_t blocks,
                               std::int64_t threads, std::size_t dynamic_shared_bytes);

/// Throws cudaErrorInvalidValue, cudaErrorLaunchOutOfResources or
/// cudaErrorCooperativeLaunchTooLarge for a launch that the device forbids.
void require_launchable(Context& context, const LoadedKernel& kernel, const Launch& launch);

/// Blocks of the kernel that an SM holds at once. Throws cudaErrorInvalidValue for no threads.
gpu::Occupancy occupancy_of(Context& context, const LoadedKernel& kernel, std::int64_t threads,
                            std::size_t dynamic_shared_bytes);

}  // namespace tilescope::cudart

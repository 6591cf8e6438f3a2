// Checks whether a launch can exist on a device, before anything runs.
#pragma once

#include <cstddef>
#include <string>
#include <tilescope/device_properties.hpp>
#include <tilescope/launch.hpp>

namespace tilescope::gpu {

/// The kernel's own needs, beside the launch's dynamic shared memory.
struct KernelNeeds {
  std::size_t static_shared_bytes = 0;
  int max_threads_per_block = 0;  ///< 0: only the device's limit counts
};

/// Throws Error(usage) that names the limit, the value and a cure, if `launch` breaks a limit of
/// the device: zero extents, threads per block (in all and per dimension), grid extents, clusters,
/// shared memory per block, or the threads that the kernel's registers allow.
void require_launchable(const std::string& kernel, const Launch& launch,
                        const DeviceProperties& device, const KernelNeeds& needs = {});

}  // namespace tilescope::gpu

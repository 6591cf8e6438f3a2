// CUDA's description of the device, from its facts.
#pragma once

#include <cuda_runtime_api.h>

#include "tilescope/device_properties.hpp"

namespace tilescope::cudart {

cudaDeviceProp properties_of(const DeviceProperties& gpu);

/// Throws cudaErrorInvalidValue for an attribute that CUDA does not define.
int attribute_of(const DeviceProperties& gpu, cudaDeviceAttr attribute);

}  // namespace tilescope::cudart

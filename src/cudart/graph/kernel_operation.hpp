// Launches as operations.
#pragma once

#include <optional>

#include "cudart/state/primary_context.hpp"

namespace tilescope::cudart {

/// The launch of a kernel, by the address of its host function or by a handle, with copies of its
/// arguments. `cluster`: what the call asks for. Throws CUDA's code for a launch that the device
/// forbids.
KernelOperation kernel_operation(Context& context, const void* function, Launch launch,
                                 void** arguments, const std::optional<Dim3>& cluster = {});

inline Dim3 extents(dim3 value) {
  return {value.x, value.y, value.z};
}

}  // namespace tilescope::cudart

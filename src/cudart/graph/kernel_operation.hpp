// Launches as operations.
#pragma once

#include "cudart/state/primary_context.hpp"

namespace tilescope::cudart {

/// The launch of a kernel, by the address of its host function or by a handle, with copies of its
/// arguments. Throws CUDA's code for a launch that the device forbids.
KernelOperation kernel_operation(Context& context, const void* function, const Launch& launch,
                                 void** arguments);

inline Dim3 extents(dim3 value) {
  return {value.x, value.y, value.z};
}

}  // namespace tilescope::cudart

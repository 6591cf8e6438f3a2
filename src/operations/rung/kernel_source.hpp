// From a file name below kernels/ to a compilation.
#pragma once

#include <string_view>
#include <tilescope/device.hpp>

namespace tilescope::operations {

/// The request for an embedded kernel source, with all embedded headers. The caller sets the
/// kernel's name and constants. Throws Error(usage) for a name that is not embedded.
KernelRequest embedded_request(std::string_view source);

}  // namespace tilescope::operations

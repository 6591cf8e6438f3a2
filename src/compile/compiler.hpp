// CUDA C++ to PTX and machine code, through NVRTC, with results kept on disk.
#pragma once

#include <string>

#include "compile/compilation.hpp"

namespace tilescope::compile {

/// Compiles, or returns the cache's result for the same content. Line tables are included. Errors:
/// bad_input with NVRTC's own log for code that does not compile; no_device when NVRTC is not found
/// or too old for the architecture.
Program compile(const Compilation& compilation);

/// The NVRTC in use, such as "13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)"; empty if none is found.
std::string compiler_description();

}  // namespace tilescope::compile

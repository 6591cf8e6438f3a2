// The kernel sources embedded in the program. CMake generates the table from kernels/, so that
// users copy a single binary.
#pragma once

#include <span>
#include <string_view>

namespace tilescope::compile {

struct EmbeddedKernel {
  std::string_view name;  ///< path below kernels/, such as "matmul/06_tiled.cu"
  std::string_view text;
};

/// All embedded sources, sorted by name.
std::span<const EmbeddedKernel> embedded_kernels();

}  // namespace tilescope::compile

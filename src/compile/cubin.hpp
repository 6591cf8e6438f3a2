// The resources of compiled kernels, read from the ELF image that NVRTC makes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::compile {

struct KernelResources {
  std::string name;              ///< mangled
  int registers = 0;             ///< per thread
  std::size_t shared_bytes = 0;  ///< static, per block
  std::size_t stack_bytes = 0;   ///< local memory per thread: arrays and spilled registers
};

/// All kernels of `cubin`, sorted by name. Throws Error(bad_input) for an image that is cut short
/// or is no CUDA ELF file.
std::vector<KernelResources> kernel_resources(std::string_view cubin);

}  // namespace tilescope::compile

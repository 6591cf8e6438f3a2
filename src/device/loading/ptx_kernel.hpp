// Kernels of a PTX module for the devices: found by name, with their parameters.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "compile/compiler.hpp"
#include "ptx/module.hpp"

namespace tilescope::device {

/// The kernel called `wanted`: its name in the PTX, its demangled name with or without the
/// parameter list, or, when `wanted` is empty, the only kernel. Throws Error(usage) that lists the
/// kernels of `file` when there is none or more than one.
const ptx::Function& find_ptx_kernel(const ptx::Module& module, std::string_view wanted,
                                     std::string_view file);

std::vector<KernelParameter> parameters_of(const ptx::Function& kernel);

/// The variables of `module` that `kernel` and the functions it calls name, in the module's order.
std::vector<KernelVariable> variables_of(const ptx::Module& module, const ptx::Function& kernel);

/// Whether kernels of PTX as NVRTC prints it use variables in global or constant memory, or other
/// modules may; not for constants of the source, which it prints as variables that nothing names.
bool uses_variables(std::string_view ptx);

/// The program to load for `request` on a GPU: CUDA C++ compiled, to PTX and, where it is wanted,
/// machine code, or the request's own PTX alone. `kernel_name` is the name in the PTX.
compile::Program program_of(const KernelRequest& request, const DeviceProperties& gpu,
                            bool machine_code = true);

}  // namespace tilescope::device

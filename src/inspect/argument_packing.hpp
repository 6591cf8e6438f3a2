// The parameters of a launch as bytes, from its arguments.
#pragma once

#include <string>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <vector>

#include "inspect/launch_arrays.hpp"

namespace tilescope::inspect {

/// The name of argument `index`: its own, else the parameter's, else "argument 3".
std::string argument_name(const LaunchDescription& launch, const std::vector<std::string>& names,
                          std::size_t index);

/// Checks the arguments against the kernel's parameters (how many, of how many bytes, numbers or
/// addresses), adds their arrays to `arrays` and packs them. `names` are the parameters' names if
/// known. Throws Error(usage) naming the argument and the parameter; as LaunchArrays::add().
KernelArguments packed_arguments(LaunchArrays& arrays, const Kernel& kernel,
                                 const LaunchDescription& launch,
                                 const std::vector<std::string>& names);

/// Finds the variables that `launch` sets and returns their numbers for
/// LaunchArrays::set_constant(). Throws Error(usage) for a variable that the kernel does not name.
std::vector<std::size_t> packed_constants(LaunchArrays& arrays, const Kernel& kernel,
                                          const LaunchDescription& launch);

}  // namespace tilescope::inspect

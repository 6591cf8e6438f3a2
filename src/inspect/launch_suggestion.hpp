// A launch that would work, for an incomplete one.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <vector>

#include "compile/kernel_list.hpp"

namespace tilescope::inspect {

/// Keeps the parts of `given`; the rest comes from a <<<...>>> launch in `source` or is plausible,
/// and then LaunchDescription::guessed names it. `parameters` are the compiled kernel's, if known.
LaunchDescription suggested_launch(std::string_view source,
                                   const compile::KernelDeclaration& kernel,
                                   const LaunchDescription& given,
                                   const std::vector<KernelParameter>& parameters = {});

/// The instance of `kernel`, a template, in `source`; a plausible one if there is none.
std::string template_instance(std::string_view source, const compile::KernelDeclaration& kernel);

}  // namespace tilescope::inspect

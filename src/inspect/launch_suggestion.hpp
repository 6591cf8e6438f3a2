// A launch that would work, for an incomplete one.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/launch_description.hpp>

#include "compile/kernel_list.hpp"

namespace tilescope::inspect {

/// Keeps the parts of `given`; the rest comes from a <<<...>>> launch in `source` or is plausible.
LaunchDescription suggested_launch(std::string_view source,
                                   const compile::KernelDeclaration& kernel,
                                   const LaunchDescription& given);

/// The instance of `kernel`, a template, in `source`; "NAME<16>" if there is none.
std::string template_instance(std::string_view source, const compile::KernelDeclaration& kernel);

}  // namespace tilescope::inspect

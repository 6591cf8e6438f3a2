// A launch that would do, for whoever left something out of theirs.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/launch_description.hpp>

#include "compile/kernel_list.hpp"

namespace tilescope::inspect {

/// What is `given` stays; the rest comes from a <<<...>>> launch in `source` or is plausible.
LaunchDescription suggested_launch(std::string_view source,
                                   const compile::KernelDeclaration& kernel,
                                   const LaunchDescription& given);

/// How `kernel`, a template, is launched in `source`; "NAME<16>" where it is not.
std::string template_instance(std::string_view source, const compile::KernelDeclaration& kernel);

}  // namespace tilescope::inspect

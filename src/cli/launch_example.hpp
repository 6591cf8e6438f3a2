// A command line that launches a kernel, for whoever left something out of theirs.
#pragma once

#include <string>
#include <string_view>

#include "compile/kernel_list.hpp"
#include "inspect/launch_description.hpp"

namespace tilescope::cli {

/// The kernel with its parameters, and below it `tilescope COMMAND FILE ...` that would work: what
/// was given stays, the rest comes from a <<<...>>> launch in `source` or is plausible. Lines of at
/// most 80 columns where names allow it, to put behind an error message.
std::string launch_example(const std::string& command, const std::string& path,
                           std::string_view source, const compile::KernelDeclaration& kernel,
                           const inspect::LaunchDescription& given);

/// How `kernel`, a template, is launched in `source`; "NAME<16>" where it is not.
std::string template_instance(std::string_view source, const compile::KernelDeclaration& kernel);

}  // namespace tilescope::cli

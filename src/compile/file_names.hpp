// The names of source files in the line table of compiled PTX.
#pragma once

#include <string>
#include <string_view>

#include "compile/compilation.hpp"

namespace tilescope::compile {

/// `ptx` with the names in its .file directives as the request has them, free of the folder in
/// which it was compiled: what is kept in the cache serves every folder. Names below
/// `working_directory` become relative; embedded kernels and their headers are called
/// kernels/FOLDER/NAME, so that nobody looks for them on disk.
std::string with_stable_file_names(std::string_view ptx, const Compilation& compilation,
                                   std::string_view working_directory);

}  // namespace tilescope::compile

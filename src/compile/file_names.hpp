// The names of source files in the line table of compiled PTX.
#pragma once

#include <string>
#include <string_view>

#include "compile/compilation.hpp"

namespace tilescope::compile {

/// The name under which NVRTC gets the source. Its own assembler takes no '"' in names, so each
/// becomes a typographic one; with_stable_file_names() turns them back.
std::string nvrtc_name(const std::string& source_name);

/// `ptx` with the file names of the request in its .file directives, free of the folder in which it
/// was compiled: a cached result serves every folder. Names below `working_directory` become
/// relative. Embedded kernels and their headers are called kernels/FOLDER/NAME, so that no reader
/// looks for them on disk.
std::string with_stable_file_names(std::string_view ptx, const Compilation& compilation,
                                   std::string_view working_directory);

}  // namespace tilescope::compile

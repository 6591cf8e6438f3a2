// Programs of several translation units that call each other's device code (-rdc=true).
//
// nvcc links such code only as machine code. Here each unit keeps its PTX, the run time links the
// texts, and one small source takes the place of the code that nvcc's device linker makes.
#pragma once

#include <string>
#include <vector>

namespace tilescope::inspect {

/// Whether the options ask for it.
bool has_separate_units(const std::vector<std::string>& options);

/// Compiles `files` to objects in `folder` and returns what is left to link: the objects and a
/// source. Files that are no sources are passed through. Throws as compile::run_nvcc().
std::vector<std::string> compile_units(const std::string& nvcc,
                                       const std::vector<std::string>& options,
                                       const std::vector<std::string>& files,
                                       const std::string& folder);

/// The source that registers the units whose identifiers are in `units` with the run time.
std::string registration_source(const std::vector<std::string>& units);

}  // namespace tilescope::inspect

// The place of this code on disk: an executable, or a shared library that has the code in it.
#pragma once

#include <filesystem>

namespace tilescope {

/// The folder of that file; empty if the system does not say.
std::filesystem::path own_folder();

}  // namespace tilescope

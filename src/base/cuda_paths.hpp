// The places of CUDA's files on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope {

/// Folders that may hold `include/` and `lib/` or `lib64/` of a CUDA toolkit or of its PyPI wheels,
/// best first: $CUDA_HOME, $CUDA_PATH, the folder that tools/setup.sh fills, Python's packages,
/// beside the program, the user's data folder, the target of `cmake --install`, /usr/local/cuda.
/// With TILESCOPE_CUDA=wheels the first two are left out.
std::vector<std::filesystem::path> cuda_roots();

/// Names the folders `nvidia` of a Python's installed packages. Call it before anything else.
void set_cuda_package_folders(std::vector<std::filesystem::path> folders);

/// Paths to try for one library: in each root, then by its bare name. `file_names` are such as
/// "libnvrtc.so.13", best first.
std::vector<std::string> cuda_library_candidates(const std::vector<std::string>& file_names);

/// The existing include folders of CUDA's device headers (runtime headers and libcu++).
std::vector<std::string> cuda_include_directories();

}  // namespace tilescope

#include "base/cuda_paths.hpp"

#include <cstdlib>
#include <string_view>

namespace tilescope {
namespace {

namespace fs = std::filesystem;

bool present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::vector<fs::path> cuda_roots() {
  std::vector<fs::path> roots;
  const auto add = [&roots](const fs::path& root) {
    if (present(root)) roots.push_back(root);
  };
  const char* choice = std::getenv("TILESCOPE_CUDA");
  if (!choice || std::string_view(choice) != "wheels") {
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* value = std::getenv(variable); value && *value) add(value);
    }
  }
  add(TILESCOPE_DEPS_DIRECTORY "/cuda");
  std::error_code failed;
  if (const fs::path self = fs::read_symlink("/proc/self/exe", failed); !failed) {
    add(self.parent_path() / ".deps/cuda");
    add(self.parent_path().parent_path() / ".deps/cuda");
    add(self.parent_path().parent_path() / "lib/tilescope/cuda");
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    add(fs::path(home) / ".local/share/tilescope/cuda");
  }
  add(TILESCOPE_INSTALL_PREFIX "/lib/tilescope/cuda");
  add("/usr/local/cuda");
  return roots;
}

std::vector<std::string> cuda_library_candidates(const std::vector<std::string>& file_names) {
  std::vector<std::string> candidates;
  for (const fs::path& root : cuda_roots()) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      for (const std::string& name : file_names) {
        const fs::path path = root / folder / name;
        if (present(path)) candidates.push_back(path.string());
      }
    }
  }
  candidates.insert(candidates.end(), file_names.begin(), file_names.end());
  return candidates;
}

std::vector<std::string> cuda_include_directories() {
  for (const fs::path& root : cuda_roots()) {
    if (!present(root / "include/cuda_fp16.h")) continue;
    std::vector<std::string> directories{(root / "include").string()};
    if (present(root / "include/cccl")) directories.push_back((root / "include/cccl").string());
    return directories;
  }
  return {};
}

}  // namespace tilescope

#include "base/cuda_paths.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/own_file.hpp"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

bool present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<fs::path>& package_folders() {
  static std::vector<fs::path> folders;
  return folders;
}

/// CUDA 13's packages share a folder; each of CUDA 12's has its own.
constexpr const char* package_names[] = {"cu13",      "cuda_nvrtc", "cuda_runtime",
                                         "cuda_nvcc", "cuda_cccl",  "nccl"};

}  // namespace

void set_cuda_package_folders(std::vector<fs::path> folders) {
  package_folders() = std::move(folders);
}

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
  for (const fs::path& folder : package_folders()) {
    for (const char* const name : package_names) add(folder / name);
  }
  if (const fs::path folder = own_folder(); !folder.empty()) {
    add(folder / ".deps/cuda");
    add(folder.parent_path() / ".deps/cuda");
    add(folder.parent_path() / "lib/tilescope/cuda");
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
  std::vector<std::string> directories;
  for (const fs::path& root : cuda_roots()) {
    if (!present(root / "include/cuda_fp16.h")) continue;
    directories.push_back((root / "include").string());
    // In CUDA 12's packages the headers are in folders beside each other.
    for (const fs::path& folder :
         {root, root.parent_path() / "cuda_cccl", root.parent_path() / "cuda_nvcc"}) {
      if (folder != root && present(folder / "include")) {
        directories.push_back((folder / "include").string());
      }
      if (present(folder / "include/cccl")) {
        directories.push_back((folder / "include/cccl").string());
      }
    }
    break;
  }
  return directories;
}

}  // namespace tilescope

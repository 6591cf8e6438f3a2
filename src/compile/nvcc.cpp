#include "compile/nvcc.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <tilescope/error.hpp>

#include "base/child_process.hpp"
#include "base/cuda_paths.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace tilescope::compile {
namespace {

namespace fs = std::filesystem;

bool can_run(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_nvcc() {
  for (const fs::path& root : cuda_roots()) {
    // A folder of wheels may have been filled without the compiler's parts.
    if (can_run(root / "bin/nvcc") && can_run(root / "nvvm/bin/cicc")) {
      return (root / "bin/nvcc").string();
    }
  }
  if (const char* path = std::getenv("PATH")) {
    for (const std::string_view folder : split(path, ':')) {
      if (!folder.empty() && can_run(fs::path(folder) / "nvcc")) {
        return (fs::path(folder) / "nvcc").string();
      }
    }
  }
  throw Error(ErrorKind::no_device,
              "nvcc not found, which compiles whole programs; run tools/setup.sh program in "
              "Tilescope's sources, or install a CUDA toolkit 12 or 13 and set CUDA_HOME to it "
              "(--kernel, --grid and --block run one kernel without it)");
}

std::string nvcc_identity(const std::string& nvcc) {
  std::error_code failed;
  const fs::path real = fs::canonical(nvcc, failed);
  std::string identity;
  for (const fs::path& part : {real, real.parent_path().parent_path() / "nvvm/bin/cicc"}) {
    if (!fs::is_regular_file(part, failed)) continue;
    const FileStamp stamp = stamp_of(open_regular_file(part.string()), part.string());
    identity += fmt::format("{} {} {}.{}\n", part.string(), stamp.size, stamp.modified_s,
                            stamp.modified_ns);
  }
  return identity;
}

void run_nvcc(const std::string& nvcc, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{nvcc};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const ChildOutput output = run_and_capture({.words = std::move(words)});
  if (output.end.code == 0) return;
  const std::string_view text = trim(output.text);
  throw Error(ErrorKind::bad_input,
              text.empty() ? fmt::format("{} ended with exit code {}", nvcc, output.end.code)
                           : std::string(text));
}

}  // namespace tilescope::compile

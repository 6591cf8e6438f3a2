#include "compile/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/cuda_paths.hpp"
#include "base/errors.hpp"

namespace tilescope::compile {
namespace {

// NVRTC opens its built-ins by their plain name. The loader finds that only in folders it knows, or
// if a library of that name is open already, so the one beside NVRTC is opened first. If there is
// none, the loader searches as usual.
void open_builtins(const Nvrtc& nvrtc) {
  const std::filesystem::path folder =
      std::filesystem::path(nvrtc.shared_object.path()).parent_path();
  if (folder.empty()) return;
  const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", nvrtc.major, nvrtc.minor);
  DynamicLibrary::open({(folder / name).string()});  // libraries stay open
}

/// Whether the driver is of CUDA 12: it loads nothing that NVRTC 13 makes.
bool has_driver_12() {
  int (*version)(int*) = nullptr;
  int number = 0;
  const DynamicLibrary driver = DynamicLibrary::open({"libcuda.so.1"});
  return driver && driver.load("cuDriverGetVersion", version) && version(&number) == 0 &&
         number / 1000 == 12;
}

std::vector<std::string> candidates() {
  static const bool prefers_12 = has_driver_12();
  std::vector<std::string> paths =
      cuda_library_candidates({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  if (prefers_12) {
    std::ranges::stable_partition(
        paths, [](const std::string& path) { return path.ends_with("libnvrtc.so.12"); });
  }
  return paths;
}

Nvrtc open_nvrtc() {
  Nvrtc nvrtc;
  std::string failure;
  nvrtc.shared_object = DynamicLibrary::open(candidates(), &failure);
  if (!nvrtc.shared_object) {
    throw device_error(
        "NVRTC, CUDA's run-time compiler, was not found ({}); run tools/setup.sh, or set CUDA_HOME "
        "to a toolkit of series 12 or 13",
        failure);
  }
  const auto load = [&nvrtc](const char* symbol, auto*& function) {
    if (!nvrtc.shared_object.load(symbol, function)) {
      throw device_error("{} lacks {}: it is older than CUDA 11.1; install CUDA 12 or 13",
                         nvrtc.shared_object.path(), symbol);
    }
  };
  load("nvrtcVersion", nvrtc.version);
  load("nvrtcGetErrorString", nvrtc.error_string);
  load("nvrtcCreateProgram", nvrtc.create_program);
  load("nvrtcDestroyProgram", nvrtc.destroy_program);
  load("nvrtcAddNameExpression", nvrtc.add_name_expression);
  load("nvrtcCompileProgram", nvrtc.compile_program);
  load("nvrtcGetPTXSize", nvrtc.ptx_size);
  load("nvrtcGetPTX", nvrtc.ptx);
  load("nvrtcGetCUBINSize", nvrtc.cubin_size);
  load("nvrtcGetCUBIN", nvrtc.cubin);
  load("nvrtcGetLoweredName", nvrtc.lowered_name);
  load("nvrtcGetProgramLogSize", nvrtc.log_size);
  load("nvrtcGetProgramLog", nvrtc.log);
  nvrtc.version(&nvrtc.major, &nvrtc.minor);
  open_builtins(nvrtc);
  return nvrtc;
}

}  // namespace

const Nvrtc& Nvrtc::instance() {
  static const Nvrtc nvrtc = open_nvrtc();
  return nvrtc;
}

std::string nvrtc_identity() {
  std::string identity;
  for (const std::filesystem::path candidate : candidates()) {
    std::error_code failure;
    if (!candidate.is_absolute() || !std::filesystem::is_regular_file(candidate, failure)) continue;
    const std::filesystem::path file = std::filesystem::canonical(candidate, failure);
    const std::uintmax_t size = std::filesystem::file_size(file, failure);
    const auto modified = std::filesystem::last_write_time(file, failure);
    if (failure) continue;
    identity += fmt::format("{} {} {}\n", file.string(), size, modified.time_since_epoch().count());
  }
  if (!identity.empty()) return identity;
  const Nvrtc& nvrtc = Nvrtc::instance();
  return fmt::format("{} {}.{}\n", nvrtc.shared_object.path(), nvrtc.major, nvrtc.minor);
}

}  // namespace tilescope::compile

#include "compile/nvrtc.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <tilescope/error.hpp>

#include "base/cuda_paths.hpp"

namespace tilescope::compile {
namespace {

// NVRTC opens its built-ins by their plain name, which the loader finds only in folders it knows,
// or if a library of that name is open already. So the one beside NVRTC is opened first. Where
// there is none, the loader has its way.
void open_builtins(const Nvrtc& nvrtc) {
  const std::filesystem::path folder =
      std::filesystem::path(nvrtc.shared_object.path()).parent_path();
  if (folder.empty()) return;
  const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", nvrtc.major, nvrtc.minor);
  DynamicLibrary::open({(folder / name).string()});  // libraries stay open
}

Nvrtc open_nvrtc() {
  Nvrtc nvrtc;
  std::string failure;
  nvrtc.shared_object = DynamicLibrary::open(
      cuda_library_candidates({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}), &failure);
  if (!nvrtc.shared_object) {
    throw Error(ErrorKind::no_device,
                fmt::format("NVRTC, CUDA's run-time compiler, was not found ({}); run "
                            "tools/setup.sh, or set CUDA_HOME to a toolkit of series 12 or 13",
                            failure));
  }
  const auto load = [&nvrtc](const char* symbol, auto*& function) {
    if (!nvrtc.shared_object.load(symbol, function)) {
      throw Error(ErrorKind::no_device,
                  fmt::format("{} lacks {}: it is older than CUDA 11.1; install CUDA 12 or 13",
                              nvrtc.shared_object.path(), symbol));
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

}  // namespace tilescope::compile

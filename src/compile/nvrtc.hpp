// The few functions of NVRTC in use, opened at run time.
#pragma once

#include <nvrtc.h>

#include <string>

#include "base/dynamic_library.hpp"

namespace tilescope::compile {

struct Nvrtc {
  DynamicLibrary shared_object;
  int major = 0, minor = 0;

  decltype(nvrtcVersion)* version = nullptr;
  decltype(nvrtcGetErrorString)* error_string = nullptr;
  decltype(nvrtcCreateProgram)* create_program = nullptr;
  decltype(nvrtcDestroyProgram)* destroy_program = nullptr;
  decltype(nvrtcAddNameExpression)* add_name_expression = nullptr;
  decltype(nvrtcCompileProgram)* compile_program = nullptr;
  decltype(nvrtcGetPTXSize)* ptx_size = nullptr;
  decltype(nvrtcGetPTX)* ptx = nullptr;
  decltype(nvrtcGetCUBINSize)* cubin_size = nullptr;
  decltype(nvrtcGetCUBIN)* cubin = nullptr;
  decltype(nvrtcGetLoweredName)* lowered_name = nullptr;
  decltype(nvrtcGetProgramLogSize)* log_size = nullptr;
  decltype(nvrtcGetProgramLog)* log = nullptr;

  /// Opens NVRTC once per process. Throws Error(no_device) that lists the attempts.
  static const Nvrtc& instance();
};

/// Identifies this compiler: the candidate files, with their sizes and times, or the version if
/// only the loader knows the file. Cheap: opening NVRTC takes longer than finding and running a
/// program from the cache. Throws as Nvrtc::instance() if there is none.
std::string nvrtc_identity();

}  // namespace tilescope::compile

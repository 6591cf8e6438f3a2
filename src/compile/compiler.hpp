// CUDA C++ to PTX and machine code, through NVRTC, with results kept on disk.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tilescope::compile {

/// One translation unit and the kernel wanted from it.
struct Compilation {
  std::string source_name;   ///< file name in messages and line tables
  std::string source;        ///< CUDA C++
  std::string kernel;        ///< "name" or an instantiation such as "name<16>"; may be empty
  std::string architecture;  ///< "sm_90", "sm_90a", ...
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_directories;
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text, for #include
  std::vector<std::string> extra_options;
};

/// What NVRTC made of it.
struct Program {
  std::string ptx;
  std::string cubin;        ///< machine code, an ELF image
  std::string kernel_name;  ///< the kernel's (mangled) name in both
  std::string log;          ///< warnings
  bool from_cache = false;
};

/// Compiles, or returns what the cache holds for the same content. Line tables are included.
/// Errors: bad_input with NVRTC's own log for code that does not compile; no_device when NVRTC is
/// not found or too old for the architecture.
Program compile(const Compilation& compilation);

/// The NVRTC that is in use, such as "13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)"; empty when
/// none is found.
std::string compiler_description();

}  // namespace tilescope::compile

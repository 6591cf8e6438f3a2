// The input and the output of a compilation.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tilescope::compile {

/// One translation unit and the kernel needed from it.
struct Compilation {
  std::string source_name;   ///< file name in messages and line tables
  std::string source;        ///< CUDA C++
  std::string kernel;        ///< "name" or an instantiation such as "name<16>"; may be empty
  std::string architecture;  ///< "sm_90", "sm_90a", ...
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_directories;
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text, for #include
  std::vector<std::string> extra_options;
  bool machine_code = true;  ///< without, NVRTC takes about two thirds of the time
};

/// NVRTC's output for it.
struct Program {
  std::string ptx;
  std::string cubin;        ///< machine code, an ELF image; empty where none was asked for
  std::string kernel_name;  ///< the kernel's (mangled) name in both
  std::string log;          ///< warnings
  bool from_cache = false;
};

}  // namespace tilescope::compile

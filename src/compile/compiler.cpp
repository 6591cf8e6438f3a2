#include "compile/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tilescope/error.hpp>

#include "base/cuda_paths.hpp"
#include "base/errors.hpp"
#include "base/text.hpp"
#include "compile/cache.hpp"
#include "compile/file_names.hpp"
#include "compile/includes.hpp"
#include "compile/nvrtc.hpp"

namespace tilescope::compile {
namespace {

/// "sm_90a", or without machine code "compute_90a".
std::string target_of(const Compilation& compilation) {
  const std::string& name = compilation.architecture;
  return compilation.machine_code ? name : "compute_" + name.substr(name.find('_') + 1);
}

std::vector<std::string> options_of(const Compilation& compilation) {
  std::vector<std::string> options{"--gpu-architecture=" + target_of(compilation), "--std=c++17",
                                   "--generate-line-info"};
  for (const auto& [name, value] : compilation.defines) {
    options.push_back(value.empty() ? "-D" + name : fmt::format("-D{}={}", name, value));
  }
  for (const std::string& directory : compilation.include_directories) {
    options.push_back("-I" + directory);
  }
  for (const std::string& directory : cuda_include_directories()) {
    options.push_back("-I" + directory);
  }
  options.insert(options.end(), compilation.extra_options.begin(), compilation.extra_options.end());
  return options;
}

/// The cache key: everything that decides the result, which is compiler, options, source and the
/// user's own headers. CUDA's headers belong to the compiler and are not read again.
std::string key_of(const Compilation& compilation, const std::vector<std::string>& options) {
  std::string key = fmt::format("nvrtc {}{}\n{}\n", nvrtc_identity(), compilation.source_name,
                                compilation.kernel);
  for (const std::string& option : options) key += option + '\n';
  key += compilation.source;
  for (const auto& [name, text] : compilation.headers) (key += '\0') += name + '\0' + text;
  for (const std::string& text : included_texts(compilation)) (key += '\0') += text;
  return key;
}

/// NVRTC takes a byte 0xFF as the end of the source, and says nothing.
Error unseen_kernel(const Compilation& compilation) {
  const std::size_t at = compilation.source.find('\xff');
  if (at == compilation.source.npos) {
    return Error(ErrorKind::bad_input, fmt::format("{}: the compiler finds no kernel {}",
                                                   compilation.source_name, compilation.kernel));
  }
  const auto line = std::ranges::count(compilation.source.substr(0, at), '\n') + 1;
  return Error(ErrorKind::bad_input,
               fmt::format("{}:{}: the compiler ends at a byte 0xFF, which is no text; save the "
                           "file as UTF-8",
                           compilation.source_name, line));
}

/// NVRTC's messages with the name that the source really has.
std::string with_own_name(std::string log, const std::string& source_name) {
  const std::string given = nvrtc_name(source_name);
  if (given == source_name) return log;
  for (std::size_t at = log.find(given); at != log.npos;
       at = log.find(given, at + source_name.size())) {
    log.replace(at, given.size(), source_name);
  }
  return log;
}

class NvrtcProgram {
 public:
  explicit NvrtcProgram(const Compilation& compilation) : nvrtc_(Nvrtc::instance()) {
    std::vector<const char*> names, texts;
    for (const auto& [name, text] : compilation.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    check(nvrtc_.create_program(&program_, compilation.source.c_str(),
                                nvrtc_name(compilation.source_name).c_str(),
                                static_cast<int>(names.size()), texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  ~NvrtcProgram() { nvrtc_.destroy_program(&program_); }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  Program build(const Compilation& compilation, const std::vector<std::string>& options) {
    if (!compilation.kernel.empty()) {
      check(nvrtc_.add_name_expression(program_, compilation.kernel.c_str()),
            "nvrtcAddNameExpression");
    }
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    const nvrtcResult result =
        nvrtc_.compile_program(program_, static_cast<int>(texts.size()), texts.data());
    Program program;
    program.log = with_own_name(text(nvrtc_.log_size, nvrtc_.log), compilation.source_name);
    if (result == NVRTC_ERROR_INVALID_OPTION) {
      throw usage_error("NVRTC {}.{} does not take the options: {}", nvrtc_.major, nvrtc_.minor,
                        trim(program.log));
    }
    if (result != NVRTC_SUCCESS) {
      const std::string_view log = trim(program.log);
      throw Error(ErrorKind::bad_input, log.empty() ? fmt::format("{}: {}", compilation.source_name,
                                                                  nvrtc_.error_string(result))
                                                    : std::string(log));
    }
    program.ptx = text(nvrtc_.ptx_size, nvrtc_.ptx);
    if (compilation.machine_code) {
      std::size_t size = 0;
      check(nvrtc_.cubin_size(program_, &size), "nvrtcGetCUBINSize");
      program.cubin.resize(size);
      check(nvrtc_.cubin(program_, program.cubin.data()), "nvrtcGetCUBIN");
    }
    if (!compilation.kernel.empty()) {
      const char* lowered = nullptr;
      check(nvrtc_.lowered_name(program_, compilation.kernel.c_str(), &lowered),
            "nvrtcGetLoweredName");
      if (lowered == nullptr) throw unseen_kernel(compilation);
      program.kernel_name = lowered;
    }
    return program;
  }

 private:
  template <typename Size, typename Get>
  std::string text(Size* get_size, Get* get) {
    std::size_t size = 0;
    check(get_size(program_, &size), "the size of NVRTC's output");
    std::string text(size, '\0');
    check(get(program_, text.data()), "NVRTC's output");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

  void check(nvrtcResult result, const char* call) const {
    if (result == NVRTC_SUCCESS) return;
    throw device_error("{} failed: {}", call, nvrtc_.error_string(result));
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

Program compile(const Compilation& compilation) {
  const std::vector<std::string> options = options_of(compilation);
  const std::string key = key_of(compilation, options);
  const Cache cache = Cache::standard();
  if (auto found = cache.find(key)) return *std::move(found);
  Program program = NvrtcProgram(compilation).build(compilation, options);
  std::error_code none;
  program.ptx = with_stable_file_names(program.ptx, compilation,
                                       std::filesystem::current_path(none).string());
  cache.store(key, program);
  return program;
}

std::string compiler_description() {
  try {
    const Nvrtc& nvrtc = Nvrtc::instance();
    return fmt::format("{}.{} ({})", nvrtc.major, nvrtc.minor, nvrtc.shared_object.path());
  } catch (const Error&) {
    return {};
  }
}

}  // namespace tilescope::compile

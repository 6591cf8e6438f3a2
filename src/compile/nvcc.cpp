#include "compile/nvcc.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/child_process.hpp"
#include "base/cuda_paths.hpp"
#include "base/file.hpp"
#include "base/symbol_names.hpp"
#include "base/temporary_file.hpp"
#include "base/text.hpp"
#include "compile/cache.hpp"
#include "compile/file_names.hpp"
#include "compile/includes.hpp"

namespace tilescope::compile {
namespace {

namespace fs = std::filesystem;

bool can_run(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed) && ::access(path.c_str(), X_OK) == 0;
}

/// The names of all kernels in PTX.
std::vector<std::string> entries_of(std::string_view ptx) {
  constexpr std::string_view mark = ".entry ";
  std::vector<std::string> names;
  for (std::size_t at = ptx.find(mark); at != ptx.npos; at = ptx.find(mark, at)) {
    at += mark.size();
    names.emplace_back(trim(ptx.substr(at, ptx.find('(', at) - at)));
  }
  return names;
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

/// "scale" of "scale<16>", of "(void(*)(float*))scale" and of "scale(float*)".
std::string plain_name(std::string name) {
  if (name.starts_with('(')) name.erase(0, name.rfind(')') + 1);
  return name.substr(0, name.find_first_of("<("));
}

/// The entry of the kernel that `wanted` names in C++.
std::string entry_of(const std::vector<std::string>& entries, const std::string& wanted,
                     const std::string& file) {
  std::vector<std::string> matching, exact;
  for (const std::string& entry : entries) {
    const std::string name = function_name(entry);
    if (!wanted.empty() && plain_name(name) != plain_name(wanted)) continue;
    matching.push_back(entry);
    const std::string signature = demangled(entry);
    const std::size_t types = signature.rfind('(');
    const bool same_types =
        types != signature.npos &&
        without_spaces(wanted).find(without_spaces(signature.substr(types))) != wanted.npos;
    if (without_spaces(name) == without_spaces(wanted) || same_types) exact.push_back(entry);
  }
  if (matching.size() == 1) return matching.front();
  if (exact.size() == 1) return exact.front();
  std::string list;
  for (const std::string& entry : entries)
    list += (list.empty() ? "" : ", ") + function_name(entry);
  throw Error(ErrorKind::usage,
              fmt::format("{} has {}; name one with --kernel: {}", quoted(file),
                          matching.empty() ? fmt::format("no kernel \"{}\"", printable(wanted, 80))
                                           : "several kernels",
                          printable(list, 300)));
}

/// The source under its own name, and a use of the kernel: a template has code where it is used.
std::string text_for_nvcc(const Compilation& compilation) {
  std::string text =
      fmt::format("#line 1 \"{}\"\n{}\n", compilation.source_name, compilation.source);
  if (!compilation.kernel.empty()) {
    text += fmt::format(
        "#line 1 \"tilescope\"\n[[maybe_unused]] static const auto tilescope_kernel = {};\n",
        compilation.kernel);
  }
  return text;
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

bool is_nvcc_option(std::string_view word) {
  const auto exact = split(
      "-w -g -G -use_fast_math --use_fast_math -extended-lambda --extended-lambda -rdc -fopenmp "
      "-expt-extended-lambda --expt-extended-lambda -expt-relaxed-constexpr "
      "--expt-relaxed-constexpr -pthread -lineinfo -m64 -W",
      ' ');
  const auto begins = split(
      "-l -L -O -U -W -std= --std= -rdc= --relocatable-device-code= -arch= --gpu-architecture= "
      "-maxrregcount= --maxrregcount= -fmad= --fmad= -ftz= -prec-div= -prec-sqrt= "
      "-default-stream= --default-stream= -Xcompiler= --compiler-options= -isystem= -ccbin= "
      "-gencode= "
      "--generate-code= -Xptxas= --ptxas-options= -Xlinker= --linker-options=",
      ' ');
  return std::ranges::find(exact, word) != exact.end() ||
         std::ranges::any_of(begins, [&](auto beginning) {
           return word.starts_with(beginning) && word.size() > beginning.size();
         });
}

bool takes_next_word(std::string_view word) {
  const auto options = split(
      "-l -L -std -Xcompiler -arch -ccbin -isystem -rdc -O -U -default-stream "
      "--default-stream --gpu-architecture -gencode --generate-code -Xptxas --ptxas-options "
      "-Xlinker --linker-options --compiler-options -maxrregcount --maxrregcount",
      ' ');
  return std::ranges::find(options, word) != options.end();
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

bool lacks_separate_compilation(const Error& error) {
  return std::string_view(error.what()).find("requires separate compilation mode") !=
         std::string_view::npos;
}

Program compile_with_nvcc(const Compilation& compilation) {
  const std::string nvcc = find_nvcc();
  std::string architecture = compilation.architecture;
  architecture.replace(0, architecture.find('_'), "compute");
  std::vector<std::string> options{"-ptx", "-arch=" + architecture, "-lineinfo", "-w"};
  for (const auto& [name, value] : compilation.defines) {
    options.push_back(value.empty() ? "-D" + name : fmt::format("-D{}={}", name, value));
  }
  for (const std::string& folder : compilation.include_directories) {
    options.push_back("-I" + folder);
  }
  std::string key = "nvcc " + nvcc_identity(nvcc);
  for (const std::string& option : options) key += option + '\n';
  key += text_for_nvcc(compilation);
  for (const std::string& text : included_texts(compilation)) (key += '\0') += text;
  const Cache cache = Cache::standard();
  if (auto found = cache.find(key)) return *std::move(found);

  TemporaryFile source("kernel", ".cu"), ptx("kernel", ".ptx");
  source.write(text_for_nvcc(compilation));
  options.insert(options.end(), {"-o", ptx.path(), source.path()});
  try {
    run_nvcc(nvcc, options);
  } catch (const Error& error) {
    if (!lacks_separate_compilation(error)) throw;
    options.emplace_back("-rdc=true");
    run_nvcc(nvcc, options);
  }
  std::error_code none;
  Program program;
  program.ptx = with_stable_file_names(read_text_file(ptx.path()), compilation,
                                       fs::current_path(none).string());
  program.kernel_name =
      entry_of(entries_of(program.ptx), compilation.kernel, compilation.source_name);
  cache.store(key, program);
  return program;
}

}  // namespace tilescope::compile

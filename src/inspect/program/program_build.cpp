#include "inspect/program/program_build.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/own_file.hpp"
#include "base/text.hpp"
#include "compile/cache.hpp"
#include "compile/includes.hpp"
#include "compile/nvcc.hpp"
#include "gpu/architecture.hpp"
#include "inspect/program/separate_units.hpp"

namespace tilescope::inspect {
namespace {

namespace fs = std::filesystem;

constexpr const char* run_time_file = "libcudart.so.13";

/// Whether the option names architectures, alone or with the next word.
bool names_architecture(std::string_view option) {
  const std::string_view name = option.substr(0, option.find('='));
  return name == "-arch" || name == "--gpu-architecture" || name == "--gpu-arch" ||
         name == "-gencode" || name == "--generate-code";
}

/// The number in "sm_90", "arch=compute_90a,code=sm_90a"; 0 without one, as in "native".
int architecture_number(std::string_view value) {
  const std::size_t mark = value.find('_');
  int number = 0;
  if (mark != value.npos) {
    std::from_chars(value.data() + mark + 1, value.data() + value.size(), number);
  }
  return number;
}

/// Takes the options that name an architecture, such as -arch=sm_80, -arch sm_80 or -gencode, out
/// of `options`, and returns the newest that a GPU of number `most` can run, in the form of PTX:
/// "compute_80". Empty without one.
std::string take_architecture(std::vector<std::string>& options, int most) {
  std::string asked;
  int best = 0;
  for (std::size_t i = 0; i < options.size();) {
    if (!names_architecture(options[i])) {
      ++i;
      continue;
    }
    const auto first = options.begin() + static_cast<std::ptrdiff_t>(i);
    const bool two = options[i].find('=') == std::string::npos && i + 1 < options.size();
    const auto last = first + (two ? 1 : 0);
    const int number = architecture_number(*last);
    const bool is_better = best > most ? number < best : number > best && number <= most;
    if (number != 0 && (best == 0 || is_better)) {
      const std::size_t mark = last->find('_');
      asked = "compute" + last->substr(mark, last->find(',') - mark);
      best = number;
    }
    options.erase(first, last + 1);
  }
  return asked;
}

/// The options for nvcc beside the files. PTX is all that the run time reads, so none but PTX is
/// made, which also is the quicker half of a compilation.
std::vector<std::string> options_of(const Program& program, const DeviceProperties& gpu) {
  std::vector<std::string> given = program.compiler_options;
  std::string architecture = take_architecture(given, 10 * gpu.compute_major + gpu.compute_minor);
  if (architecture.empty()) {
    architecture = gpu::architecture_name(gpu.compute_major, gpu.compute_minor);
    architecture.replace(0, architecture.find('_'), "compute");
  }
  // -arch=compute_90a makes nvcc compile for compute_90 too, where wgmma is an error.
  std::vector<std::string> options{"-gencode", fmt::format("arch={0},code={0}", architecture),
                                   "-cudart", "none", "-no-compress", "-lineinfo",
                                   // addr2line of binutils 2.40 misreads the file names of DWARF 5.
                                   "-Xcompiler", "-gdwarf-4", "-Xcompiler", "-g1",
                                   // Frames of the host's stack have the lines of its source.
                                   "-Xcompiler", "-fno-omit-frame-pointer"};
  options.insert(options.end(), given.begin(), given.end());
  return options;
}

/// The folders that -I names, together with its word or after it.
std::vector<std::string> include_directories(const std::vector<std::string>& options) {
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == "-I" && i + 1 < options.size())
      folders.push_back(options[++i]);
    else if (options[i].starts_with("-I"))
      folders.push_back(options[i].substr(2));
  }
  return folders;
}

/// Everything that decides the executable: compiler, options, sources, and the headers that they
/// reach. The line table has absolute paths, so these belong to it.
std::string key_of(const Program& program, const std::string& nvcc,
                   const std::vector<std::string>& options) {
  std::string key = "program " + compile::nvcc_identity(nvcc);
  for (const std::string& option : options) key += option + '\n';
  const std::vector<std::string> folders = include_directories(options);
  for (const std::string& file : program.files) {
    const std::string path = fs::absolute(file).string();
    const compile::Compilation source{
        .source_name = path, .source = read_text_file(path), .include_directories = folders};
    (key += '\0') += path + '\0' + source.source;
    for (const std::string& text : compile::included_texts(source)) (key += '\0') += text;
  }
  return key;
}

/// A folder for the objects of separate units.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {
    fs::create_directories(path_, ignored_);
  }
  ~TemporaryFolder() { fs::remove_all(path_, ignored_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::error_code ignored_;
};

void make_executable(const std::string& nvcc, std::vector<std::string> options,
                     std::vector<std::string> files, const std::string& made) {
  const std::string run_time = run_time_directory();
  std::optional<TemporaryFolder> units;
  if (has_separate_units(options)) {
    units.emplace(made + ".units");
    files = compile_units(nvcc, options, files, units->path());
    options.emplace_back("-rdc=false");
  }
  options.insert(options.end(), {"-o", made});
  options.insert(options.end(), files.begin(), files.end());
  options.insert(options.end(), {"-L" + run_time, fmt::format("-l:{}", run_time_file)});
  compile::run_nvcc(nvcc, options);
}

/// A name for a new executable beside `target`, or in the folder of temporary files without one.
std::string temporary_beside(const std::string& target) {
  static int number = 0;
  const std::string stem =
      target.empty() ? (fs::temp_directory_path() / "tilescope-program").string() : target;
  return fmt::format("{}.{}.{}.tmp", stem, ::getpid(), number++);
}

}  // namespace

std::string run_time_directory() {
  std::vector<fs::path> folders;
  std::error_code failed;
  if (const fs::path folder = own_folder(); !folder.empty()) {
    folders = {folder, folder / "lib", folder.parent_path(), folder.parent_path() / "lib/tilescope",
               folder.parent_path().parent_path()};  // a build's, for its Python package
  }
  folders.emplace_back(TILESCOPE_INSTALL_PREFIX "/lib/tilescope");
  for (const fs::path& folder : folders) {
    if (fs::is_regular_file(folder / run_time_file, failed)) return folder.string();
  }
  throw Error(ErrorKind::no_device,
              fmt::format("{} of Tilescope not found beside the command or in {}; build Tilescope "
                          "with CUDA 13's headers (tools/setup.sh, then make build)",
                          run_time_file, folders.back().string()));
}

BuiltProgram::BuiltProgram(const Program& program, const DeviceProperties& gpu) {
  const std::string nvcc = compile::find_nvcc();
  std::vector<std::string> options = options_of(program, gpu);
  const std::string key = key_of(program, nvcc, options);
  const fs::path folder = compile::Cache::standard_directory();
  std::error_code failed;
  if (!folder.empty()) {
    path_ = compile::Cache(folder).path_of(key).string() + ".program";
    if (fs::is_regular_file(path_, failed)) return;
    fs::create_directories(folder, failed);
    if (::access(folder.c_str(), W_OK) != 0) path_.clear();
  }
  const std::string made = fs::absolute(temporary_beside(path_)).string();
  auto registration = std::make_unique<TemporaryRegistration>(made);
  try {
    make_executable(nvcc, options, program.files, made);
  } catch (const Error& error) {
    if (!compile::lacks_separate_compilation(error)) throw;
    options.emplace_back("-rdc=true");
    make_executable(nvcc, options, program.files, made);
  }
  if (!path_.empty()) {
    fs::rename(made, path_, failed);
    if (!failed) return;
  }
  path_ = made;
  temporary_ = std::move(registration);
}

BuiltProgram::~BuiltProgram() {
  std::error_code ignored;
  if (temporary_) fs::remove(path_, ignored);
}

}  // namespace tilescope::inspect

#include "inspect/user_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/symbol_names.hpp"
#include "base/text.hpp"
#include "compile/kernel_list.hpp"
#include "compile/launch_sites.hpp"
#include "compile/nvcc.hpp"
#include "compile/user_source.hpp"
#include "gpu/architecture.hpp"
#include "gpu/launch_limits.hpp"
#include "inspect/argument_packing.hpp"
#include "inspect/launch_suggestion.hpp"

namespace tilescope::inspect {
namespace {

using compile::KernelDeclaration;

std::string names_of(const std::vector<KernelDeclaration>& kernels) {
  std::string list;
  for (const KernelDeclaration& kernel : kernels) {
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", kernel.name,
                        kernel.is_template ? "<...>" : "");
  }
  return printable(list, 300);
}

/// The kernel to compile, in the form that the compiler takes. Empty: a macro makes it, and its
/// name is not to be seen.
std::string chosen_kernel(const std::string& wanted, const std::vector<KernelDeclaration>& kernels,
                          const SourceText& source) {
  if (wanted.empty()) {
    if (kernels.empty()) {
      if (source.text.find("__global__") != source.text.npos) return {};
      throw Error(ErrorKind::bad_input,
                  fmt::format("{} has no kernel: there is no __global__ function in it (one that a "
                              "macro makes is named with --kernel)",
                              quoted(source.name)));
    }
    if (kernels.size() > 1) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} has several kernels; name one with --kernel: {}",
                              quoted(source.name), names_of(kernels)));
    }
  }
  const KernelDeclaration* found =
      wanted.empty() ? &kernels.front() : compile::find_kernel(kernels, wanted);
  if (found == nullptr) return wanted;  // a macro may define it: the compiler decides
  if (found->is_template && wanted.find('<') == std::string::npos) {
    throw Error(ErrorKind::usage,
                fmt::format("kernel {} is a template; name an instance, such as --kernel '{}'",
                            found->name, template_instance(source.text, *found)));
  }
  const std::size_t arguments = wanted.find_first_of("<(");
  if (arguments == std::string::npos) return found->name;
  // One of several overloads: the compiler gets a cast to the right type.
  if (wanted[arguments] == '(') {
    return fmt::format("(void(*){})({})", wanted.substr(arguments), found->name);
  }
  return found->name + wanted.substr(arguments);
}

/// The message for a compiler error about the requested name, not about the source; empty if the
/// error is about the source.
std::string name_error(std::string_view log, const std::string& wanted,
                       const KernelDeclaration* declaration) {
  if (log.find("cannot determine which instance of overloaded function") != log.npos &&
      declaration != nullptr) {
    std::string list;
    for (const std::string& signature : declaration->signatures) {
      list += fmt::format("{}{}({})", list.empty() ? "" : ", ", declaration->name, signature);
    }
    return fmt::format(
        "kernel {} is overloaded; give the types of the parameters, such as "
        "--kernel '{}(float*)'; there are {}",
        declaration->name, declaration->name, printable(list, 300));
  }
  constexpr std::string_view place = "__nv_name_map(", mark = "error: ";
  if (!log.starts_with(place)) return {};
  const std::size_t at = log.find(mark);
  if (at == log.npos) return {};
  const std::string_view text = log.substr(at + mark.size());
  return fmt::format("--kernel {}: {}", printable(wanted, 80), text.substr(0, text.find('\n')));
}

/// Requires the text of a program, not of some other file.
void require_text(const SourceText& source) {
  const std::size_t zero = source.text.find('\0');
  if (zero == source.text.npos) return;
  throw Error(ErrorKind::bad_input,
              fmt::format("{} is not text: byte {} is zero", quoted(source.name), zero));
}

/// The note for compiler errors about functions that were taken for host code.
std::string host_call_note(std::string_view log, const std::vector<std::string>& left_out) {
  for (const std::string& name : left_out) {
    if (log.find(fmt::format("identifier \"{}\" is undefined", name)) == log.npos) continue;
    return fmt::format(
        "\n\n{} has no __device__, so it is host code and was left out; mark it __device__ if "
        "kernels call it",
        name);
  }
  return {};
}

/// The missing part of the description; empty: nothing.
std::string missing_extents(const LaunchDescription& description) {
  if (description.grid && description.block) return {};
  return fmt::format("--{} is missing: how many {}", description.grid ? "block" : "grid",
                     description.grid ? "threads a block has" : "blocks to launch");
}

/// Throws the defect of the launch, with a launch that would work.
[[noreturn]] void refuse_launch(const std::string& why, const SourceText& source,
                                const KernelDeclaration& kernel,
                                const LaunchDescription& description,
                                const std::vector<KernelParameter>& parameters = {}) {
  throw LaunchError(why,
                    fmt::format("{}({})", kernel.name, printable(kernel.signatures.front(), 1000)),
                    suggested_launch(source.text, kernel, description, parameters));
}

/// The declaration in the compiled code, for a kernel that the source does not declare plainly. PTX
/// does not tell pointers from other words of 8 bytes.
KernelDeclaration compiled_declaration(const Kernel& kernel) {
  KernelDeclaration declaration;
  declaration.name = kernel.name();
  for (const std::string& entry : kernel.module().kernels()) {
    const std::string whole = demangled(entry);
    const std::size_t bracket = whole.rfind('(');
    if (function_name(entry) == kernel.name() && bracket != whole.npos) {
      declaration.signatures = {whole.substr(bracket + 1, whole.rfind(')') - bracket - 1)};
      return declaration;
    }
  }
  std::vector<std::string> types;
  for (const KernelParameter& parameter : kernel.parameters()) {
    const bool is_real = parameter.kind == KernelParameter::Kind::floating;
    types.emplace_back(parameter.bytes == 8   ? (is_real ? "double" : "void*")
                       : parameter.bytes == 4 ? (is_real ? "float" : "int")
                                              : fmt::format("bytes_{}", parameter.bytes));
  }
  declaration.signatures = {fmt::format("{}", fmt::join(types, ", "))};
  return declaration;
}

/// Whether the name of a kernel may stand in a macro alone.
bool macro_makes_kernels(const std::string& source) {
  for (std::size_t at = source.find("#define"); at != source.npos;
       at = source.find("#define", at + 1)) {
    std::size_t end = source.find('\n', at);
    while (end != source.npos && (source[end - 1] == '\\' || source[end - 1] == '\r')) {
      if (source[end - 1] == '\r' && source[end - 2] != '\\') break;
      end = source.find('\n', end + 1);
    }
    if (source.substr(at, end - at).find("__global__") != source.npos) return true;
  }
  return false;
}

/// Loads a kernel by nvcc, which takes any host code; the only one of the source if the request
/// names none.
Kernel load_with_nvcc(Device& device, const KernelRequest& request) {
  const DeviceProperties& gpu = device.properties();
  const compile::Program program = compile::compile_with_nvcc(
      {.source_name = request.source_name,
       .source = request.source,
       .kernel = request.kernel,
       .architecture = gpu::architecture_name(gpu.compute_major, gpu.compute_minor),
       .defines = request.defines,
       .include_directories = request.include_directories});
  Kernel kernel = device.load({.source_name = request.source_name,
                               .source = program.ptx,
                               .kernel = program.kernel_name,
                               .language = SourceLanguage::ptx});
  kernel.state().name = function_name(program.kernel_name);
  return kernel;
}

/// The same for a source that NVRTC refuses. Nothing if nvcc refuses it too or is not there.
std::optional<Kernel> try_nvcc(Device& device, const KernelRequest& request) {
  try {
    return load_with_nvcc(device, request);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Loads a kernel of CUDA C++. An error about the requested name has a message of its own instead
/// of the compiler's.
Kernel load_kernel(Device& device, const KernelRequest& request, const std::string& wanted,
                   const std::vector<KernelDeclaration>& kernels,
                   const KernelDeclaration* declaration, const compile::UserSource& host_code) {
  try {
    return device.load(request);
  } catch (const Error& error) {
    if (const std::string why = name_error(error.what(), wanted, declaration);
        !why.empty() && (declaration != nullptr || kernels.empty())) {
      throw Error(ErrorKind::usage, why);
    }
    if (const std::string note = host_call_note(error.what(), host_code.left_out); !note.empty()) {
      throw Error(error.kind(), error.what() + note);
    }
    if (declaration != nullptr || kernels.empty() || error.kind() != ErrorKind::bad_input) throw;
    throw Error(ErrorKind::usage,
                fmt::format("{} has no kernel \"{}\"; it has: {}", quoted(request.source_name),
                            printable(request.kernel, 80), names_of(kernels)));
  }
}

}  // namespace

/// The kernel that a launch asks for.
struct UserKernel::Wanted {
  KernelRequest request;
  std::vector<KernelDeclaration> kernels;
  const KernelDeclaration* declaration = nullptr;
};

UserKernel::UserKernel(Device& device, const SourceText& source,
                       const LaunchDescription& description)
    : device_(device), arrays_(device) {
  require_text(source);
  sources.push_back(source);
  if (source.language == SourceLanguage::ptx) {
    sources.push_back({source.text, "", source.language});  // places without a line table
  }
  for (const LaunchArgument& array : description.arrays) arrays_.share(array);
  add(source, description);
  for (const LaunchDescription& launch : description.following) add(source, launch);
}

void UserKernel::add(const SourceText& source, const LaunchDescription& description) {
  Wanted wanted;
  wanted.request = {.source_name = source.name,
                    .source = source.text,
                    .kernel = description.kernel,
                    .language = source.language,
                    .defines = description.defines,
                    .include_directories = description.include_directories};
  if (source.language == SourceLanguage::cuda) {
    wanted.kernels = compile::kernels_in(source.text);
    wanted.request.kernel = chosen_kernel(description.kernel, wanted.kernels, source);
    wanted.declaration = compile::find_kernel(
        wanted.kernels, description.kernel.empty() ? wanted.request.kernel : description.kernel);
  }
  if (const std::string missing = missing_extents(description); !missing.empty()) {
    if (wanted.declaration != nullptr) {
      refuse_launch(missing, source, *wanted.declaration, description);
    }
    const Kernel kernel = open(source, description, wanted);
    refuse_launch(missing, source, compiled_declaration(kernel), description, kernel.parameters());
  }
  const KernelRequest whole = wanted.request;
  auto loaded = find_loaded(wanted);
  Step step{.kernel = loaded ? *std::move(loaded) : open(source, description, wanted),
            .launch = {.grid = *description.grid,
                       .block = *description.block,
                       .shared_bytes = description.shared_bytes,
                       .cooperative = description.cooperative,
                       .cluster = description.cluster,
                       .overlaps_previous = description.overlaps_previous},
            .arguments = {},
            .constants = {}};
  try {
    step.arguments = packed_arguments(
        arrays_, step.kernel, description,
        wanted.declaration ? wanted.declaration->parameters : std::vector<std::string>{});
    step.constants = packed_constants(arrays_, step.kernel, description);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    refuse_launch(error.what(), source,
                  wanted.declaration ? *wanted.declaration : compiled_declaration(step.kernel),
                  description, step.kernel.parameters());
  }
  const std::string& name = step.kernel.name();
  if (steps_.empty()) {
    title = fmt::format("{}: {}", source.name, name);
  } else if (std::none_of(steps_.begin(), steps_.end(),
                          [&](const Step& s) { return s.kernel.name() == name; })) {
    title += ", " + name;
  }
  for (const LaunchArgument& constant : description.constants) set_.insert(constant.name);
  for (const std::string& guess : description.guessed) {
    if (std::find(guessed.begin(), guessed.end(), guess) == guessed.end()) guessed.push_back(guess);
  }
  note_unset(source, step);
  steps_.push_back(std::move(step));
  loaded_.push_back(whole);
}

/// A kernel of an earlier launch's compilation, so that they share variables.
std::optional<Kernel> UserKernel::find_loaded(const Wanted& wanted) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const KernelRequest& request = loaded_[i];
    if (request.defines != wanted.request.defines ||
        request.include_directories != wanted.request.include_directories) {
      continue;
    }
    if (request.kernel == wanted.request.kernel) return steps_[i].kernel;
    const Module module = steps_[i].kernel.module();
    for (const std::string& entry : module.kernels()) {
      if (function_name(entry) == wanted.request.kernel) return module.kernel(entry);
    }
  }
  return std::nullopt;
}

Kernel UserKernel::open(const SourceText& source, const LaunchDescription& description,
                        Wanted& wanted) {
  if (source.language == SourceLanguage::ptx) return device_.load(wanted.request);
  // As in compilers, headers are looked for beside the file first.
  const std::filesystem::path folder = std::filesystem::path(source.name).parent_path();
  KernelRequest request = wanted.request;
  request.include_directories.insert(request.include_directories.begin(),
                                     folder.empty() ? "." : folder.string());
  const KernelRequest whole = request;  // with its host code
  if (whole.kernel.empty()) return load_with_nvcc(device_, whole);
  compile::UserSource host_code = compile::prepare_user_source(request);
  Kernel kernel;
  try {
    kernel = load_kernel(device_, request, description.kernel, wanted.kernels, wanted.declaration,
                         host_code);
  } catch (const Error& error) {
    const bool may_be_made = wanted.declaration == nullptr && macro_makes_kernels(source.text);
    if (error.kind() != ErrorKind::bad_input && !may_be_made) throw;
    auto loaded = try_nvcc(device_, whole);
    if (!loaded) throw;
    kernel = *std::move(loaded);
    notes.emplace_back("compiled by nvcc, since NVRTC does not take the file's host code");
    host_code = {};
  }
  if (!host_code.left_out.empty() && steps_.empty()) {
    notes.push_back(
        fmt::format("host code is left out ({}); only the kernel runs",
                    printable(fmt::format("{}", fmt::join(host_code.left_out, ", ")), 120)));
  }
  for (auto& [name, text] : host_code.headers) sources.push_back({std::move(text), name});
  if (!steps_.empty() && !kernel.variables().empty()) {
    notes.push_back(
        fmt::format("kernel {} is compiled for itself: it shares no __device__ or "
                    "__constant__ variables with the launches before",
                    kernel.name()));
    set_.clear();
  }
  return kernel;
}

/// Says which variables the program would set, and the launch does not.
void UserKernel::note_unset(const SourceText& source, const Step& step) {
  const std::set<std::string> copied = compile::symbols_copied_to(source.text);
  for (const KernelVariable& variable : step.kernel.variables()) {
    const std::string name = variable_name(variable.name);
    const bool is_data = (variable.is_constant && !variable.has_initial) || copied.contains(name);
    if (name.empty() || !is_data || !set_.insert(name).second) continue;
    unset.push_back(name);
    notes.push_back(
        fmt::format("{} has {}, since nothing sets it; --constant "
                    "'{}=TYPE[COUNT]=INIT' does",
                    name, variable.has_initial ? "its initial value" : "only zeros", name));
  }
}

void UserKernel::launch() {
  const Event before = device_.create_event(), after = device_.create_event();
  device_.record(before);
  for (const Step& step : steps_) {
    for (const std::size_t constant : step.constants) arrays_.set_constant(constant);
    device_.launch(step.kernel, step.launch, step.arguments);
  }
  device_.record(after);
  device_.synchronize();
  arrays_.memory().give_back();
  elapsed_ms_ = device_.elapsed_ms(before, after);
}

void UserKernel::require_launchable() const {
  for (const Step& step : steps_) {
    const KernelAttributes& a = step.kernel.attributes();
    gpu::require_launchable(step.kernel.name(), step.launch, device_.properties(),
                            {.static_shared_bytes = a.static_shared_bytes,
                             .max_threads_per_block = a.max_threads_per_block});
  }
}

}  // namespace tilescope::inspect

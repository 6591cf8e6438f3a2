#include "inspect/user_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/symbol_names.hpp"
#include "base/text.hpp"
#include "compile/kernel_list.hpp"
#include "compile/nvcc.hpp"
#include "compile/user_source.hpp"
#include "gpu/architecture.hpp"
#include "gpu/launch_limits.hpp"
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

/// The kernel to compile, in the form that the compiler takes.
std::string chosen_kernel(const std::string& wanted, const std::vector<KernelDeclaration>& kernels,
                          const SourceText& source) {
  if (wanted.empty()) {
    if (kernels.empty()) {
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

/// Throws the defect of the launch, with a launch that would work if the kernel is known.
[[noreturn]] void refuse_launch(const std::string& why, const SourceText& source,
                                const KernelDeclaration* kernel,
                                const LaunchDescription& description) {
  if (!kernel) throw Error(ErrorKind::usage, why);
  throw LaunchError(
      why, fmt::format("{}({})", kernel->name, printable(kernel->signatures.front(), 1000)),
      suggested_launch(source.text, *kernel, description));
}

/// Loads a kernel of a source that NVRTC refuses, by nvcc, which takes any host code. Nothing if
/// nvcc refuses it too or is not there.
std::optional<Kernel> load_with_nvcc(Device& device, const KernelRequest& request) {
  try {
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

UserKernel::UserKernel(Device& device, const SourceText& source,
                       const LaunchDescription& description)
    : device_(device) {
  require_text(source);
  sources.push_back(source);
  KernelRequest request{.source_name = source.name,
                        .source = source.text,
                        .kernel = description.kernel,
                        .language = source.language,
                        .defines = description.defines,
                        .include_directories = description.include_directories};
  std::vector<KernelDeclaration> kernels;
  const KernelDeclaration* declaration = nullptr;
  const bool is_cuda = source.language == SourceLanguage::cuda;
  if (is_cuda) {
    kernels = compile::kernels_in(source.text);
    request.kernel = chosen_kernel(description.kernel, kernels, source);
    declaration = compile::find_kernel(
        kernels, description.kernel.empty() ? request.kernel : description.kernel);
  }
  if (const std::string missing = missing_extents(description); !missing.empty()) {
    refuse_launch(missing, source, declaration, description);
  }
  if (is_cuda) {
    // As in compilers, headers are looked for beside the file first.
    const std::filesystem::path folder = std::filesystem::path(source.name).parent_path();
    request.include_directories.insert(request.include_directories.begin(),
                                       folder.empty() ? "." : folder.string());
    const KernelRequest whole = request;  // with its host code
    compile::UserSource host_code = compile::prepare_user_source(request);
    try {
      kernel_ = load_kernel(device, request, description.kernel, kernels, declaration, host_code);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      auto kernel = load_with_nvcc(device, whole);
      if (!kernel) throw;
      kernel_ = *std::move(kernel);
      notes.emplace_back("compiled by nvcc, since NVRTC does not take the file's host code");
      host_code = {};
    }
    if (!host_code.left_out.empty()) {
      notes.push_back(
          fmt::format("host code is left out ({}); only the kernel runs",
                      printable(fmt::format("{}", fmt::join(host_code.left_out, ", ")), 120)));
    }
    for (auto& [name, text] : host_code.headers) sources.push_back({std::move(text), name});
  } else {
    kernel_ = device.load(request);
    sources.push_back({source.text, "", source.language});  // places without a line table
  }
  title = fmt::format("{}: {}", source.name, kernel_.name());
  launch_ = {.grid = *description.grid,
             .block = *description.block,
             .shared_bytes = description.shared_bytes,
             .cooperative = description.cooperative};
  try {
    arrays_ = std::make_unique<LaunchArrays>(
        device, kernel_, description,
        declaration ? declaration->parameters : std::vector<std::string>{});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    refuse_launch(error.what(), source, declaration, description);
  }
}

void UserKernel::launch() {
  const Event before = device_.create_event(), after = device_.create_event();
  device_.record(before);
  device_.launch(kernel_, launch_, arrays_->arguments());
  device_.record(after);
  device_.synchronize();
  elapsed_ms_ = device_.elapsed_ms(before, after);
}

void UserKernel::require_launchable() const {
  const KernelAttributes& a = kernel_.attributes();
  gpu::require_launchable(kernel_.name(), launch_, device_.properties(),
                          {.static_shared_bytes = a.static_shared_bytes,
                           .max_threads_per_block = a.max_threads_per_block});
}

}  // namespace tilescope::inspect

#include "cli/user_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/launch_example.hpp"
#include "compile/kernel_list.hpp"
#include "compile/user_source.hpp"

namespace tilescope::cli {
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

/// The kernel to compile, as the compiler is to be asked for it.
std::string chosen_kernel(const std::string& wanted, const std::vector<KernelDeclaration>& kernels,
                          const std::string& path, std::string_view source) {
  if (wanted.empty()) {
    if (kernels.empty()) {
      throw Error(ErrorKind::bad_input,
                  fmt::format("{} has no kernel: there is no __global__ function in it (one that a "
                              "macro makes is named with --kernel)",
                              quoted(path)));
    }
    if (kernels.size() > 1) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} has several kernels; name one with --kernel: {}", quoted(path),
                              names_of(kernels)));
    }
  }
  const KernelDeclaration* found =
      wanted.empty() ? &kernels.front() : compile::find_kernel(kernels, wanted);
  if (found == nullptr) return wanted;  // a macro may have made it: the compiler decides
  if (found->is_template && wanted.find('<') == std::string::npos) {
    throw Error(ErrorKind::usage,
                fmt::format("kernel {} is a template; name an instance, such as --kernel '{}'",
                            found->name, template_instance(source, *found)));
  }
  const std::size_t arguments = wanted.find_first_of("<(");
  if (arguments == std::string::npos) return found->name;
  // One of several of a name: the compiler is given a cast to the type that is meant.
  if (wanted[arguments] == '(') {
    return fmt::format("(void(*){})({})", wanted.substr(arguments), found->name);
  }
  return found->name + wanted.substr(arguments);
}

/// What to say instead of the compiler's words about a name that it was asked for, not about the
/// source; empty where they are about the source.
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

/// Text of a program, not some other file under its name.
void require_text(const std::string& path, std::string_view source) {
  const std::size_t zero = source.find('\0');
  if (zero == source.npos) return;
  throw Error(ErrorKind::bad_input,
              fmt::format("{} is not text: byte {} is zero", quoted(path), zero));
}

/// For compiler errors about functions that were taken for host code.
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

void require_extents(const inspect::LaunchDescription& description, const std::string& example) {
  if (description.grid && description.block) return;
  throw Error(ErrorKind::usage,
              fmt::format("--{} is missing: how many {}{}", description.grid ? "block" : "grid",
                          description.grid ? "threads a block has" : "blocks to launch", example));
}

}  // namespace

bool is_kernel_file(const std::string& path) {
  return path.ends_with(".cu") || path.ends_with(".cuh") || path.ends_with(".ptx");
}

UserKernel::UserKernel(Device& device, const std::string& path,
                       const inspect::LaunchDescription& description, const std::string& command)
    : device_(device), source_(read_text_file(path)) {
  require_text(path, source_);
  KernelRequest request{.source_name = path,
                        .source = source_,
                        .kernel = description.kernel,
                        .defines = description.defines,
                        .include_directories = description.include_directories};
  std::vector<std::string> parameter_names;
  std::string example;
  if (path.ends_with(".ptx")) {
    require_extents(description, example);
    request.language = SourceLanguage::ptx;
    kernel_ = device.load(request);
  } else {
    const std::vector<KernelDeclaration> kernels = compile::kernels_in(source_);
    request.kernel = chosen_kernel(description.kernel, kernels, path, source_);
    // As compilers do, headers are looked for beside the file first.
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    request.include_directories.insert(request.include_directories.begin(),
                                       folder.empty() ? "." : folder.string());
    const KernelDeclaration* declaration = compile::find_kernel(
        kernels, description.kernel.empty() ? request.kernel : description.kernel);
    if (declaration != nullptr) {
      example = launch_example(command, path, source_, *declaration, description);
    }
    require_extents(description, example);
    host_code_ = compile::prepare_user_source(request);
    try {
      kernel_ = device.load(request);
    } catch (const Error& error) {
      if (const std::string why = name_error(error.what(), description.kernel, declaration);
          !why.empty() && (declaration != nullptr || kernels.empty())) {
        throw Error(ErrorKind::usage, why);
      }
      if (const std::string note = host_call_note(error.what(), host_code_.left_out);
          !note.empty()) {
        throw Error(error.kind(), error.what() + note);
      }
      if (declaration != nullptr || kernels.empty() || error.kind() != ErrorKind::bad_input) throw;
      throw Error(ErrorKind::usage, fmt::format("{} has no kernel \"{}\"; it has: {}", quoted(path),
                                                printable(request.kernel, 80), names_of(kernels)));
    }
    if (declaration != nullptr) parameter_names = declaration->parameters;
    if (!host_code_.left_out.empty()) {
      note(fmt::format("tilescope: note: host code is left out ({}); only the kernel runs",
                       printable(fmt::format("{}", fmt::join(host_code_.left_out, ", ")), 120)));
    }
  }
  launch_ = {.grid = *description.grid,
             .block = *description.block,
             .shared_bytes = description.shared_bytes,
             .cooperative = description.cooperative};
  try {
    arrays_ =
        std::make_unique<inspect::LaunchArrays>(device, kernel_, description, parameter_names);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw Error(ErrorKind::usage, error.what() + example);
  }
}

double UserKernel::run() {
  const Event before = device_.create_event(), after = device_.create_event();
  device_.record(before);
  device_.launch(kernel_, launch_, arrays_->arguments());
  device_.record(after);
  device_.synchronize();
  return device_.elapsed_ms(before, after);
}

std::shared_ptr<Device> open_for_kernels(const std::string& specification, std::string* why) {
  if (specification != "auto") return Device::open(specification);
  if (cuda_devices(why).empty()) return Device::open("emulated");
  return Device::open("cuda");
}

}  // namespace tilescope::cli

#include "inspect/kernel_needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "compile/compiler.hpp"
#include "compile/cubin.hpp"
#include "compile/user_source.hpp"
#include "gpu/architecture.hpp"
#include "operations/registry.hpp"
#include "operations/rung/kernel_program.hpp"

namespace tilescope::inspect {
namespace {

// NVRTC 13 compiles for 7.5 and later. For older GPUs and textbook machines it counts registers for
// the oldest that it knows.
constexpr int oldest_compiled = 75;

std::string architecture_for(const gpu::Gpu& gpu, std::string& note) {
  const DeviceProperties& p = gpu.properties;
  if (10 * p.compute_major + p.compute_minor >= oldest_compiled) {
    return gpu::architecture_name(p.compute_major, p.compute_minor);
  }
  note = fmt::format("registers are those of code for {}.{}: the compiler makes none for {}",
                     oldest_compiled / 10, oldest_compiled % 10, p.name);
  return gpu::architecture_name(oldest_compiled / 10, oldest_compiled % 10);
}

const compile::KernelResources& choose(const std::vector<compile::KernelResources>& kernels,
                                       const std::string& mangled, const std::string& wanted,
                                       const std::string& what) {
  if (kernels.empty()) {
    throw input_error(
        "{} has no kernel (a template is compiled when it is named: --kernel 'name<16>')", what);
  }
  if (wanted.empty() && kernels.size() == 1) return kernels.front();
  std::string names;
  for (const compile::KernelResources& kernel : kernels) {
    if (!wanted.empty() && (kernel.name == mangled || kernel.name == wanted)) return kernel;
    names += (names.empty() ? "" : ", ") + kernel.name;
  }
  throw Error(ErrorKind::usage, wanted.empty()
                                    ? fmt::format("{} has several kernels: choose one with "
                                                  "--kernel; there are {}",
                                                  what, names)
                                    : fmt::format("{} has no kernel {}; there are {}", what,
                                                  printable(wanted, 60), names));
}

KernelNeedsFound of_compilation(const compile::Compilation& compilation,
                                const KernelQuestion& question) {
  const compile::Program program = compile::compile(compilation);
  const std::vector<compile::KernelResources> kernels = compile::kernel_resources(program.cubin);
  const compile::KernelResources& kernel =
      choose(kernels, program.kernel_name, compilation.kernel, question.what);
  KernelNeedsFound found;
  found.kernel = kernel.name;
  found.needs.registers_per_thread = kernel.registers;
  found.needs.shared_bytes =
      static_cast<std::int64_t>(kernel.shared_bytes) + question.dynamic_shared_bytes;
  found.needs.threads = question.threads;
  if (kernel.stack_bytes > 0) {
    found.note = fmt::format("{} B of local memory per thread (arrays or spilled registers)",
                             kernel.stack_bytes);
  }
  return found;
}

KernelNeedsFound of_file(const KernelQuestion& question, const gpu::Gpu& gpu) {
  if (question.threads == 0) {
    throw usage_error("{}: give the block size with --threads N", question.what);
  }
  std::string note;
  KernelRequest request{.source_name = question.what,
                        .source = read_text_file(question.what),
                        .kernel = question.kernel};
  const std::filesystem::path folder = std::filesystem::path(question.what).parent_path();
  request.include_directories.push_back(folder.empty() ? "." : folder.string());
  for (const std::string& define : question.defines) {
    const std::size_t equals = define.find('=');
    request.defines.emplace_back(define.substr(0, equals),
                                 equals == std::string::npos ? "" : define.substr(equals + 1));
  }
  compile::prepare_user_source(request);
  const compile::Compilation compilation{.source_name = request.source_name,
                                         .source = request.source,
                                         .kernel = request.kernel,
                                         .architecture = architecture_for(gpu, note),
                                         .defines = request.defines,
                                         .include_directories = request.include_directories,
                                         .headers = request.headers,
                                         .extra_options = request.extra_options};
  KernelNeedsFound found = of_compilation(compilation, question);
  if (!note.empty()) found.note = note + (found.note.empty() ? "" : "; " + found.note);
  return found;
}

// The step in question: the only one, the named one, or else the first from the variant's own
// source; others prepare operands or add up parts.
const operations::Step& choose(const operations::Plan& plan, std::string_view source,
                               const KernelQuestion& question, std::string& note) {
  const operations::Step* chosen = nullptr;
  bool is_own = false;
  std::vector<std::string> names;
  for (const operations::Step& step : plan.steps) {
    if (step.kernel.empty()) continue;  // a fill
    if (std::find(names.begin(), names.end(), step.kernel) == names.end()) {
      names.push_back(step.kernel);
    }
    if (!question.kernel.empty() && question.kernel != step.kernel) continue;
    const bool own = step.source.empty() || step.source == source;
    if (!chosen || (own && !is_own)) {
      chosen = &step;
      is_own = own;
    }
  }
  if (!chosen) {
    throw usage_error("{} has no kernel {}; there are {}", question.what,
                      printable(question.kernel, 60), fmt::join(names, ", "));
  }
  if (names.size() > 1 && question.kernel.empty()) {
    note =
        fmt::format("{} launches {}; choose with --kernel", question.what, fmt::join(names, ", "));
  }
  return *chosen;
}

KernelNeedsFound of_operation(const operations::Operation& operation,
                              const operations::VariantInfo& variant,
                              const KernelQuestion& question, const gpu::Gpu& gpu) {
  const operations::Plan plan = operation.plan(variant, gpu.properties);
  std::string note;
  const operations::Step& step = choose(plan, variant.source, question, note);
  const KernelRequest request = operations::step_request(variant.source, plan, step);
  const compile::Compilation compilation{.source_name = request.source_name,
                                         .source = request.source,
                                         .kernel = request.kernel,
                                         .architecture = architecture_for(gpu, note),
                                         .defines = request.defines,
                                         .headers = request.headers};
  KernelQuestion asked = question;
  asked.threads = static_cast<std::int64_t>(step.launch.block.count());
  asked.dynamic_shared_bytes = static_cast<std::int64_t>(step.launch.shared_bytes);
  KernelNeedsFound found = of_compilation(compilation, asked);
  if (!note.empty()) found.note = note + (found.note.empty() ? "" : "; " + found.note);
  return found;
}

}  // namespace

KernelNeedsFound kernel_needs(const KernelQuestion& question, const gpu::Gpu& gpu) {
  if (question.what.ends_with(".cu")) return of_file(question, gpu);
  const std::size_t slash = question.what.find('/');
  if (slash == std::string::npos) {
    throw usage_error(
        "\"{}\" is neither OPERATION/VARIANT, such as matmul/tiled_16, nor a .cu file",
        printable(question.what, 60));
  }
  const auto operation =
      operations::make_operation(question.what.substr(0, slash), question.problem);
  const std::string name = operation->variant_name(question.what.substr(slash + 1));
  for (const operations::VariantInfo& variant : operation->variants()) {
    if (variant.name == name) return of_operation(*operation, variant, question, gpu);
  }
  throw usage_error("{} has no variant {}", operation->name(), name);
}

}  // namespace tilescope::inspect

#include "cli/kernel_needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "compile/compiler.hpp"
#include "compile/cubin.hpp"
#include "gpu/architecture.hpp"
#include "operations/kernel_source.hpp"
#include "operations/matmul/variants.hpp"

namespace tilescope::cli {
namespace {

// NVRTC 13 makes code for 7.5 and later. For older GPUs and textbook machines the registers of the
// oldest that it knows are the nearest there is.
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
    throw Error(ErrorKind::bad_input,
                fmt::format("{} has no kernel (a template is compiled when it is named: --kernel "
                            "'name<16>')",
                            what));
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
    throw Error(ErrorKind::usage,
                fmt::format("{}: give the block size with --threads N", question.what));
  }
  std::string note;
  compile::Compilation compilation{.source_name = question.what,
                                   .source = read_text_file(question.what),
                                   .kernel = question.kernel,
                                   .architecture = architecture_for(gpu, note)};
  const std::filesystem::path folder = std::filesystem::path(question.what).parent_path();
  compilation.include_directories.push_back(folder.empty() ? "." : folder.string());
  for (const std::string& define : question.defines) {
    const std::size_t equals = define.find('=');
    compilation.defines.emplace_back(define.substr(0, equals),
                                     equals == std::string::npos ? "" : define.substr(equals + 1));
  }
  KernelNeedsFound found = of_compilation(compilation, question);
  if (!note.empty()) found.note = note + (found.note.empty() ? "" : "; " + found.note);
  return found;
}

KernelNeedsFound of_matmul(const std::string& variant_name, const KernelQuestion& question,
                           const gpu::Gpu& gpu) {
  const operations::MatmulVariant& variant = operations::matmul_variant(variant_name);
  if (variant.row->form != operations::MatmulForm::kernel) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is no kernel of ours: it has no block to count", question.what));
  }
  const MatmulShape shape = variant.padded({question.size, question.size, question.size});
  const operations::MatmulPlan plan = variant.row->plan(shape, variant.width, gpu.properties);
  const KernelRequest request = operations::embedded_request(variant.row->source);
  std::string note;
  const compile::Compilation compilation{.source_name = request.source_name,
                                         .source = request.source,
                                         .kernel = "matmul",
                                         .architecture = architecture_for(gpu, note),
                                         .defines = plan.defines,
                                         .headers = request.headers};
  KernelQuestion asked = question;
  asked.threads = static_cast<std::int64_t>(plan.launch.block.count());
  asked.dynamic_shared_bytes = static_cast<std::int64_t>(plan.launch.shared_bytes);
  KernelNeedsFound found = of_compilation(compilation, asked);
  if (!note.empty()) found.note = note + (found.note.empty() ? "" : "; " + found.note);
  return found;
}

}  // namespace

KernelNeedsFound kernel_needs(const KernelQuestion& question, const gpu::Gpu& gpu) {
  if (question.what.ends_with(".cu")) return of_file(question, gpu);
  const std::size_t slash = question.what.find('/');
  if (slash == std::string::npos) {
    throw Error(ErrorKind::usage,
                fmt::format("\"{}\" is neither OPERATION/VARIANT, such as matmul/tiled_16, nor a "
                            ".cu file",
                            printable(question.what, 60)));
  }
  const std::string operation = question.what.substr(0, slash);
  if (operation != "matmul") {
    throw Error(ErrorKind::usage, fmt::format("no operation {} is known here; there is matmul",
                                              printable(operation, 60)));
  }
  return of_matmul(question.what.substr(slash + 1), question, gpu);
}

}  // namespace tilescope::cli

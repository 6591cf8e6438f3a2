#include "cli/emulated_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "cli/problem_arguments.hpp"
#include "compile/embedded_kernels.hpp"
#include "gpu/launch_limits.hpp"

namespace tilescope::cli {
namespace {

std::shared_ptr<device::EmulatedDevice> open_emulated(const std::string& specification) {
  if (specification == "auto") return std::make_shared<device::EmulatedDevice>();
  auto opened = std::dynamic_pointer_cast<device::EmulatedDevice>(Device::open(specification));
  if (!opened) {
    throw Error(ErrorKind::usage,
                fmt::format("--device {}: only the emulated device can be looked into; use "
                            "emulated or emulated:GPU",
                            specification));
  }
  return opened;
}

bool gives_size(const operations::ProblemOptions& options) {
  return options.size || options.rows || options.columns || options.inner;
}

bool is_of_matrices(std::string_view operation) {
  const auto& takes = operations::registered_operation(operation).options;
  return std::find(takes.begin(), takes.end(), "--rows") != takes.end();
}

/// As much as one block of threads can do.
operations::ProblemOptions one_block_size(std::string_view operation,
                                          operations::ProblemOptions options) {
  constexpr std::int64_t matrix_extent = 32, list_elements = 1024;
  options.size = is_of_matrices(operation) ? matrix_extent : list_elements;
  return options;
}

}  // namespace

void TargetArguments::add_to(CLI::App& command) {
  command
      .add_option("TARGET", target,
                  "OPERATION/VARIANT, such as matmul/tiled_16, or a .cu or .ptx file")
      ->required()
      ->type_name("TARGET");
  command.add_option("--tile", tile, "Tile width of the variant: matmul/tiled --tile 16")
      ->check(CLI::Range(1, 1024))
      ->type_name("W")
      ->group("Problem");
  add_problem_options(command, problem);
  launch.add_to(command);
  command.add_option("--device", device, "emulated or emulated:GPU, such as emulated:t4")
      ->type_name("DEVICE");
  command
      .add_option("--max-instructions", max_instructions,
                  "Stop a launch after so many warp instructions and report what there is")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62U).description(""))
      ->type_name("N");
}

operations::ProblemOptions emulated_size(std::string_view operation,
                                         operations::ProblemOptions options) {
  if (gives_size(options)) return options;
  constexpr std::int64_t matrix_extent = 128, list_elements = 65536;
  options.size = is_of_matrices(operation) ? matrix_extent : list_elements;
  return options;
}

std::string chosen_variant(const operations::Operation& operation, const std::string& name,
                           int tile) {
  if (tile != 0) return operation.variant_name(fmt::format("{}_{}", name, tile));
  std::string widest;
  for (const operations::VariantInfo& variant : operation.variants()) {
    if (variant.name == name) return name;
    const bool is_width =
        variant.name.starts_with(name + '_') &&
        variant.name.find_first_not_of("0123456789", name.size() + 1) == std::string::npos;
    if (!is_width) continue;
    widest = variant.name;
    if (widest == name + "_16") break;
  }
  return widest.empty() ? operation.variant_name(name) : widest;
}

EmulatedTarget::EmulatedTarget(const TargetArguments& arguments)
    : max_instructions_(arguments.max_instructions), device_(open_emulated(arguments.device)) {
  if (!is_kernel_file(arguments.target)) {
    open_operation(arguments);
    return;
  }
  if (arguments.tile != 0) {
    throw Error(ErrorKind::usage, "--tile is for OPERATION/VARIANT; give a file's kernel -D");
  }
  kernel_ = std::make_unique<UserKernel>(*device_, arguments.target, arguments.launch.description(),
                                         arguments.launch.command);
  sources_.add(arguments.target, kernel_->source());
  for (const auto& [name, text] : kernel_->host_code().headers) sources_.add(name, text);
  if (arguments.target.ends_with(".ptx")) sources_.add("", kernel_->source());
  title_ = fmt::format("{}: {}", arguments.target, kernel_->kernel().name());
}

EmulatedTarget::~EmulatedTarget() = default;

namespace {

operations::VariantInfo variant_info(const operations::Operation& operation,
                                     const std::string& name) {
  for (operations::VariantInfo& variant : operation.variants()) {
    if (variant.name == name && !variant.source.empty()) return std::move(variant);
  }
  throw Error(ErrorKind::usage, fmt::format("{}/{} is no kernel of ours: there is nothing to look "
                                            "into",
                                            operation.name(), name));
}

/// Why the variant cannot run, by its own rules or by the device's limits on launches.
std::optional<std::string> refusal(const operations::Operation& operation,
                                   const operations::VariantInfo& variant, const Device& device) {
  if (auto why = operation.refusal(variant, device)) return why;
  try {
    for (const operations::Step& step : operation.plan(variant, device.properties()).steps) {
      if (!step.kernel.empty()) {
        gpu::require_launchable(step.kernel, step.launch, device.properties(), {});
      }
    }
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace

void EmulatedTarget::open_operation(const TargetArguments& arguments) {
  const std::string& target = arguments.target;
  const std::size_t slash = target.find('/');
  if (slash == std::string::npos || target.find('/', slash + 1) != std::string::npos) {
    throw Error(ErrorKind::usage,
                fmt::format("\"{}\" is neither a .cu or .ptx file nor OPERATION/VARIANT, such as "
                            "matmul/tiled_16",
                            printable(target, 120)));
  }
  if (arguments.launch.any()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} brings its own launch; --kernel, --grid, --arg and the like are "
                            "for files",
                            target));
  }
  const std::string name = target.substr(0, slash);
  operation_ = operations::make_operation(name, emulated_size(name, arguments.problem));
  const std::string variant = chosen_variant(*operation_, target.substr(slash + 1), arguments.tile);
  operations::VariantInfo info = variant_info(*operation_, variant);
  std::optional<std::string> why = refusal(*operation_, info, *device_);
  if (why && !gives_size(arguments.problem)) {  // a rung of one block takes only little
    operation_ = operations::make_operation(name, one_block_size(name, arguments.problem));
    info = variant_info(*operation_, variant);
    why = refusal(*operation_, info, *device_);
  }
  if (why) throw Error(ErrorKind::usage, fmt::format("{}/{}: {}", name, variant, *why));
  for (const compile::EmbeddedKernel& file : compile::embedded_kernels()) {
    sources_.add(fmt::format("kernels/{}", file.name), file.text);
  }
  prepared_ = operation_->prepare(info, *device_);
  prepared_->poison(0);
  title_ = fmt::format("{}/{}, {}", name, variant, operation_->size_text());
  note_ = prepared_->note();
}

void EmulatedTarget::require_launchable() const {
  if (!kernel_) return;
  const KernelAttributes& a = kernel_->kernel().attributes();
  gpu::require_launchable(kernel_->kernel().name(), kernel_->launch(), device_->properties(),
                          {.static_shared_bytes = a.static_shared_bytes,
                           .max_threads_per_block = a.max_threads_per_block});
}

void EmulatedTarget::run(device::EmulationOptions options) {
  options.max_instructions = max_instructions_;
  options.cancel = CancelScope::flag();
  options.tolerant = true;
  device_->set_options(std::move(options));
  if (kernel_) {
    kernel_->run();
  } else {
    prepared_->run(0);
  }
}

void RunEnd::add(const emulator::LaunchSummary& summary) {
  ++launches;
  blocks += summary.blocks_run;
  warp_instructions += summary.warp_instructions;
  faults += summary.fault_count;
  deadlocked_blocks += summary.deadlocked_blocks;
  if (complete()) end = summary.end;
  if (message.empty()) message = summary.message;
}

std::string_view RunEnd::kind() const {
  switch (end) {
    case emulator::LaunchEnd::complete:
      return "";
    case emulator::LaunchEnd::trapped:
      return "trap";
    case emulator::LaunchEnd::budget_spent:
      return "unfinished";
    case emulator::LaunchEnd::cancelled:
      break;
  }
  return "interrupted";
}

}  // namespace tilescope::cli

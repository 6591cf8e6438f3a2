#include <fmt/format.h>

#include <tilescope/error.hpp>
#include <tilescope/run.hpp>

#include "inspect/emulated_run.hpp"
#include "inspect/open_device.hpp"
#include "inspect/open_subject.hpp"
#include "inspect/program/program_results.hpp"
#include "inspect/results/run_trace.hpp"
#include "inspect/user_kernel.hpp"

namespace tilescope {
namespace {

/// A GPU tells the time of all launches together, and nothing of their blocks.
std::shared_ptr<const inspect::RunTrace> gpu_trace(const RunResult& result) {
  inspect::RunTrace trace{.time_ms = result.time_ms};
  for (const KernelRun& run : result.launches) {
    trace.launches.push_back({run.kernel, run.launch.grid, run.launch.block});
  }
  return std::make_shared<const inspect::RunTrace>(std::move(trace));
}

}  // namespace

RunResult run(const Target& target, const LaunchDescription& launch,
              const InspectOptions& options) {
  if (const auto* rung = std::get_if<LadderRung>(&target)) {
    throw Error(ErrorKind::usage,
                fmt::format("run takes a .cu or .ptx file, not \"{}\"", rung->name));
  }
  RunResult result;
  const std::shared_ptr<Device> device = inspect::open_for_kernels(options.device);
  if (device->kind() == DeviceKind::cpu) {
    throw Error(ErrorKind::usage, "the cpu device runs no kernels; use --device emulated");
  }
  if (const auto* program = std::get_if<Program>(&target)) {
    inspect::require_no_launch(launch, program->files);
    return inspect::run_program(*program, *device, options);
  }
  auto* emulated = dynamic_cast<device::EmulatedDevice*>(device.get());
  if (emulated) emulated->set_options(inspect::emulation_options(options, result));
  inspect::UserKernel kernel(*device, inspect::source_of(target), launch);
  result.target = kernel.title;
  result.notes = kernel.notes;
  result.guessed = kernel.guessed;
  result.unset = kernel.unset;
  result.device = device->id();
  result.properties = device->properties();
  for (const inspect::UserKernel::Step& step : kernel.steps()) {
    result.launches.push_back({step.kernel.name(), step.launch});
  }
  result.kernel = result.launches.front().kernel;
  result.launch = result.launches.front().launch;
  if (options.before_launch) options.before_launch();
  try {
    kernel.launch();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::wrong_result || !emulated) throw;
    result.failure = error.what();
  }
  if (!emulated) {
    for (const KernelRun& launched : result.launches) {
      ++result.ran.launches;
      result.ran.blocks += launched.launch.grid.count();
    }
    result.time_ms = kernel.elapsed_ms();
    if (options.trace) result.trace = gpu_trace(result);
  }
  result.arrays = kernel.arrays().read_back(options.most_elements);
  if (result.failure.empty()) kernel.arrays().save(result.arrays);
  return result;
}

}  // namespace tilescope

#include <algorithm>
#include <set>
#include <tilescope/explain.hpp>

#include "inspect/emulated_run.hpp"
#include "inspect/open_device.hpp"
#include "inspect/open_subject.hpp"
#include "inspect/program/program_results.hpp"
#include "inspect/results/detail_observers.hpp"

namespace tilescope {
namespace {

LaunchResources resources_of(const Kernel& kernel, const Launch& launch) {
  const KernelAttributes& code = kernel.attributes();
  return {.kernel = kernel.name(),
          .registers_per_thread = code.registers_per_thread,
          .local_bytes_per_thread = code.local_bytes_per_thread,
          .static_shared_bytes = code.static_shared_bytes,
          .dynamic_shared_bytes = launch.shared_bytes,
          .threads_per_block = launch.block.count()};
}

}  // namespace

ExplainResult explain(const Target& target, const LaunchDescription& launch,
                      const InspectOptions& options) {
  if (const auto* program = std::get_if<Program>(&target)) {
    inspect::require_no_launch(launch, program->files);
    return inspect::explain_program(*program, *inspect::open_emulated(options.device), options);
  }
  ExplainResult result;
  inspect::EmulatedRun run(target, launch, options, result);
  run.require_launchable();
  const auto details = std::make_shared<inspect::ExplainDetails>();
  result.details = details;
  inspect::DetailObservers seen([&run](const ptx::Module& module) { return run.ptx_of(module); },
                                options.blocks);
  result.sample = options.blocks;
  std::vector<emulator::Observer*> observers = seen.wanted(options.pictures);
  if (options.phases) observers.push_back(&details->phases);
  const auto after_launch = [&] {
    result.counts += seen.counted();
    result.launches.push_back(seen.counted());
    details->launches.push_back(seen.all());
  };
  const auto before_launch = [&](const Kernel& kernel, const Launch& launched) {
    const LaunchResources resources = resources_of(kernel, launched);
    if (std::ranges::find(result.resources, resources) != result.resources.end()) return;
    result.resources.push_back(resources);
  };
  run.launch(observers, {.after = after_launch, .before = before_launch});
  result.pipelines = details->pipelines();
  std::set<std::string> files;
  for (const LineCounts& line : result.counts.lines) files.insert(line.place.file);
  run.keep_sources(files);
  return result;
}

}  // namespace tilescope

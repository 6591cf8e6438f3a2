#include "inspect/emulated_run.hpp"

#include <utility>

#include "inspect/open_subject.hpp"

namespace tilescope::inspect {
namespace {

Ending ending_of(emulator::LaunchEnd end) {
  switch (end) {
    case emulator::LaunchEnd::complete:
      return Ending::complete;
    case emulator::LaunchEnd::trapped:
      return Ending::trapped;
    case emulator::LaunchEnd::budget_spent:
      return Ending::unfinished;
    case emulator::LaunchEnd::cancelled:
      break;
  }
  return Ending::interrupted;
}

/// The first launch that did not complete determines the run's ending.
void add_launch(RunSummary& run, const emulator::LaunchSummary& launch) {
  ++run.launches;
  run.blocks += launch.blocks_run;
  run.warp_instructions += launch.warp_instructions;
  run.faults += launch.fault_count;
  run.deadlocked_blocks += launch.deadlocked_blocks;
  if (run.ending == Ending::complete) run.ending = ending_of(launch.end);
  if (run.message.empty()) run.message = launch.message;
}

}  // namespace

device::EmulationOptions emulation_options(const InspectOptions& options, Inspection& result) {
  device::EmulationOptions emulation{.max_instructions = options.max_instructions,
                                     .cancel = options.cancel,
                                     .print = options.print};
  if (!emulation.print) {
    emulation.print = [&result](std::string_view text) { result.printed += text; };
  }
  emulation.after_launch = [&result](const emulator::LaunchSummary& summary) {
    add_launch(result.ran, summary);
  };
  return emulation;
}

EmulatedRun::EmulatedRun(const Target& target, const LaunchDescription& launch,
                         const InspectOptions& options, Inspection& result)
    : options_(options),
      result_(result),
      device_(open_emulated(options.device)),
      subject_(open_subject(target, launch, *device_)) {
  result_.target = subject_->title;
  result_.notes = subject_->notes;
  result_.device = device_->id();
  result_.properties = device_->properties();
}

void EmulatedRun::launch(std::vector<emulator::Observer*> observers,
                         const std::function<void()>& after_launch) {
  device::EmulationOptions emulation = emulation_options(options_, result_);
  emulation.observers = std::move(observers);
  emulation.tolerant = true;
  emulation.after_launch =
      [&, summed = std::move(emulation.after_launch)](const emulator::LaunchSummary& summary) {
        summed(summary);
        after_launch();
      };
  device_->set_options(std::move(emulation));
  if (options_.before_launch) options_.before_launch();
  subject_->launch();
}

void EmulatedRun::keep_sources(const std::set<std::string>& files) {
  for (SourceText& source : subject_->sources) {
    if (files.contains(source.name)) result_.sources.push_back(std::move(source));
  }
}

}  // namespace tilescope::inspect

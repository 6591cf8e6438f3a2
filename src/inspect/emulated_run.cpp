#include "inspect/emulated_run.hpp"

#include <utility>

#include "inspect/open_subject.hpp"
#include "inspect/results/run_summary.hpp"
#include "inspect/results/run_trace.hpp"

namespace tilescope::inspect {
device::EmulationOptions emulation_options(const InspectOptions& options, Inspection& result) {
  device::EmulationOptions emulation{.max_instructions = options.max_instructions,
                                     .cancel = options.cancel,
                                     .print = options.print,
                                     .progress = options.progress,
                                     .schedule = options.schedule.value_or(0)};
  if (!emulation.print) {
    emulation.print = [&result](std::string_view text) { result.printed += text; };
  }
  emulation.after_launch = [&result](const emulator::LaunchSummary& summary) {
    add(result.ran, summary_of(summary));
  };
  if (options.trace) {
    const auto recorder = std::make_shared<TraceRecorder>();
    emulation.observers.push_back(recorder.get());
    result.trace = {recorder, &recorder->trace()};
  }
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
  result_.guessed = subject_->guessed;
  result_.unset = subject_->unset;
  result_.device = device_->id();
  result_.properties = device_->properties();
}

void EmulatedRun::launch(const std::vector<emulator::Observer*>& observers, Hooks hooks) {
  device::EmulationOptions emulation = emulation_options(options_, result_);
  emulation.observers.insert(emulation.observers.begin(), observers.begin(), observers.end());
  emulation.tolerant = true;
  emulation.before_launch = std::move(hooks.before);
  emulation.after_launch =
      [after = std::move(hooks.after),
       summed = std::move(emulation.after_launch)](const emulator::LaunchSummary& summary) {
        summed(summary);
        after();
      };
  if (hooks.schedules != nullptr) emulation.conduct = hooks.schedules->conductor();
  if (hooks.leaves_out) {
    emulation.conduct = [leaves_out = std::move(hooks.leaves_out),
                         conduct = std::move(emulation.conduct)](
                            emulator::Machine& machine, const emulator::LaunchOptions& usual,
                            const device::LaunchOnce& once) {
      if (leaves_out()) return;
      if (conduct) return conduct(machine, usual, once);
      once(usual);
    };
  }
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

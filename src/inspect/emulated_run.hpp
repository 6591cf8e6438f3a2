// A target on the emulated device, for check() and explain().
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tilescope/inspection.hpp>
#include <tilescope/launch_description.hpp>
#include <vector>

#include "inspect/open_device.hpp"
#include "inspect/results/schedule_runs.hpp"
#include "inspect/subject.hpp"

namespace tilescope::inspect {

class EmulatedRun {
 public:
  /// Opens the target and describes it in `result`; `options` and `result` must outlive this.
  EmulatedRun(const Target& target, const LaunchDescription& launch, const InspectOptions& options,
              Inspection& result);

  /// Throws Error(usage) when the launch breaks a limit of the device.
  void require_launchable() const { subject_->require_launchable(); }
  /// Called around each launch; all but `after` may be empty.
  struct Hooks {
    std::function<void()> after;
    std::function<void(const Kernel&, const Launch&)> before;
    std::function<bool()> leaves_out;   ///< true: the launch does not run
    ScheduleRuns* schedules = nullptr;  ///< runs each of them in several orders
  };
  /// Launches with the observers and adds the run's amounts to `result`. Launches are tolerant, so
  /// that defects do not end the run.
  void launch(const std::vector<emulator::Observer*>& observers, Hooks hooks);
  /// Those of the target, by their names in line tables. Until keep_sources().
  const std::vector<SourceText>& sources() const { return subject_->sources; }
  /// As EmulatedDevice::ptx_of.
  std::string ptx_of(const ptx::Module& module) const { return device_->ptx_of(module); }
  /// Stores the sources named in `files` in `result`.
  void keep_sources(const std::set<std::string>& files);

 private:
  const InspectOptions& options_;
  Inspection& result_;
  std::shared_ptr<device::EmulatedDevice> device_;
  std::unique_ptr<Subject> subject_;
};

/// The device's options for a run that `result` describes; `result.trace` receives the trace, if
/// one is wanted.
device::EmulationOptions emulation_options(const InspectOptions& options, Inspection& result);

}  // namespace tilescope::inspect

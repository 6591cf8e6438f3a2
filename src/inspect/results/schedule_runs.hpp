// Runs each launch of a check in several orders (emulator/launch_schedule.hpp), from the same
// memory, and merges what the checker finds in them. Results that differ are findings too.
//
//     ScheduleRuns runs(checker, 32, [&](std::vector<Finding> findings) { ... });
//     options.observers = {&checker};
//     options.conduct = runs.conductor();
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/emulated/emulated_device.hpp"
#include "inspect/results/result_differences.hpp"
#include "observe/check/check_observer.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::inspect {

class ScheduleRuns {
 public:
  /// `report` receives the findings of each launch; their `launch` counts from it, through the
  /// grids that its kernels launch. `note` receives remarks for the reader.
  ScheduleRuns(const observe::CheckObserver& checker, std::uint64_t schedules,
               std::function<void(std::vector<Finding>)> report,
               std::function<void(std::string)> note)
      : checker_(checker),
        schedules_(schedules),
        report_(std::move(report)),
        note_(std::move(note)) {}

  /// For EmulationOptions::conduct; this must outlive it.
  decltype(device::EmulationOptions::conduct) conductor();

 private:
  /// An array with another result: what the first such schedule left, and all of them.
  struct Differing {
    ArrayDifference first;
    std::vector<std::uint64_t> seeds;
  };
  struct Launch;
  void conduct(const Launch& launch);
  /// Runs the launch with the checker. Returns whether it came to its end.
  bool run(const Launch& launch, std::uint64_t seed, std::vector<Finding>& findings) const;
  std::vector<Finding> describe(const Launch& launch, const std::vector<Differing>& arrays,
                                const emulator::MemoryContents& usual) const;

  const observe::CheckObserver& checker_;
  std::uint64_t schedules_;
  std::function<void(std::vector<Finding>)> report_;
  std::function<void(std::string)> note_;
};

}  // namespace tilescope::inspect

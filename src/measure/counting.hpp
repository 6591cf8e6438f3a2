// The counts of a rung's run on an emulated device, which has no times.
#pragma once

#include <atomic>
#include <optional>
#include <tilescope/device.hpp>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"

namespace tilescope::measure {

/// Counts every launch on an emulated `device` while it lives; `cancel` becoming true ends a launch
/// soon, with an error. On other devices it does nothing. `device` must outlive it.
class LaunchCounter {
 public:
  explicit LaunchCounter(Device& device, const std::atomic<bool>* cancel = nullptr);
  ~LaunchCounter();
  LaunchCounter(const LaunchCounter&) = delete;
  LaunchCounter& operator=(const LaunchCounter&) = delete;

  /// The sum of the launches so far; nothing if none was counted.
  const std::optional<Counts>& result() const { return counts_; }

 private:
  device::EmulatedDevice* device_;
  observe::CountObserver observer_;
  std::optional<Counts> counts_;
};

}  // namespace tilescope::measure

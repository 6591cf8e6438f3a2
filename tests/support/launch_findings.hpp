// The findings of every launch of an emulated device, for tests of kernels that must have none.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "device/emulated/emulated_device.hpp"
#include "observe/check/check_observer.hpp"

namespace tilescope::testing {

/// Checks all launches of a device from now on; must outlive them.
class LaunchFindings {
 public:
  /// `left_out`: kinds that the tested launches may have.
  explicit LaunchFindings(device::EmulatedDevice& device, std::vector<FindingKind> left_out = {})
      : left_out_(std::move(left_out)) {
    device.set_options({.observers = {&checks_},
                        .after_launch = [this](const auto& summary) { add(summary); },
                        .tolerant = true});
  }
  LaunchFindings(const LaunchFindings&) = delete;
  LaunchFindings& operator=(const LaunchFindings&) = delete;

  /// A line for each finding since the last call, and the limits that the checks met.
  std::string take() { return std::exchange(lines_, {}); }

 private:
  void add(const emulator::LaunchSummary& summary) {
    EXPECT_EQ(summary.fault_count, 0U);
    for (const Finding& f : checks_.findings()) {
      if (std::ranges::find(left_out_, f.kind) != left_out_.end()) continue;
      lines_ += fmt::format("{}: {} ({}:{})\n", to_string(f.kind), message(f), f.first.place.file,
                            f.first.place.line);
    }
    lines_ += message(checks_.limitation());
  }

  std::vector<FindingKind> left_out_;
  observe::CheckObserver checks_;
  std::string lines_;
};

}  // namespace tilescope::testing

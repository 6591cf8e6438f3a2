// A kernel from a user's source on a device.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <tilescope/target.hpp>

#include "inspect/launch_arrays.hpp"
#include "inspect/subject.hpp"

namespace tilescope::inspect {

class UserKernel : public Subject {
 public:
  /// Compiles `source`, finds the kernel, allocates and fills its arrays.
  /// Errors: bad_input with the compiler's own words for code that does not compile; usage for a
  /// kernel that is not there or ambiguous (with a list of those that are); LaunchError for a grid,
  /// a block or arguments that are missing or do not fit, where the source says what would.
  UserKernel(Device& device, const SourceText& source, const LaunchDescription& description);

  void launch() override;
  void require_launchable() const override;

  const Kernel& kernel() const { return kernel_; }
  const Launch& configuration() const { return launch_; }
  LaunchArrays& arrays() { return *arrays_; }
  /// Of the last launch: milliseconds between two events around it.
  double elapsed_ms() const { return elapsed_ms_; }

 private:
  Device& device_;
  Kernel kernel_;
  Launch launch_;
  double elapsed_ms_ = 0.0;
  std::unique_ptr<LaunchArrays> arrays_;
};

}  // namespace tilescope::inspect

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
  /// Compiles `source`, finds the kernel, allocates and fills its arrays. Errors: bad_input with
  /// the compiler's own words for code that does not compile; usage for an unknown or ambiguous
  /// kernel (with a list of the kernels); LaunchError for a grid, a block or arguments that are
  /// missing or do not fit, with a suggestion from the source.
  UserKernel(Device& device, const SourceText& source, const LaunchDescription& description);

  void launch() override;
  void require_launchable() const override;

  const Kernel& kernel() const { return kernel_; }
  const Launch& configuration() const { return launch_; }
  LaunchArrays& arrays() { return *arrays_; }
  /// Milliseconds between two events around the last launch.
  double elapsed_ms() const { return elapsed_ms_; }

 private:
  Device& device_;
  Kernel kernel_;
  Launch launch_;
  double elapsed_ms_ = 0.0;
  std::unique_ptr<LaunchArrays> arrays_;
};

}  // namespace tilescope::inspect

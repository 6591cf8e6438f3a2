// A kernel from a user's file on a device, ready to be launched.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device.hpp>

#include "compile/user_source.hpp"
#include "inspect/launch_arrays.hpp"
#include "inspect/launch_description.hpp"

namespace tilescope::cli {

/// Whether `path` names a source of kernels: .cu, .cuh or .ptx.
bool is_kernel_file(const std::string& path);

class UserKernel {
 public:
  /// Reads and compiles `path`, finds the kernel, allocates and fills its arrays.
  /// Errors: bad_input for the file, with the compiler's own words for code that does not compile;
  /// usage for a kernel that is not there or ambiguous (with a list of those that are), for
  /// a grid, a block or arguments that are missing or do not fit (with an example for `command`),
  /// and for launches that the device forbids.
  UserKernel(Device& device, const std::string& path, const inspect::LaunchDescription& description,
             const std::string& command);

  const Kernel& kernel() const { return kernel_; }
  const Launch& launch() const { return launch_; }
  const std::string& source() const { return source_; }
  /// What was left out as host code, and the headers that it was cut from.
  const compile::UserSource& host_code() const { return host_code_; }
  inspect::LaunchArrays& arrays() { return *arrays_; }

  /// Launches once and waits. Returns the milliseconds between two events around the launch.
  double run();

 private:
  Device& device_;
  std::string source_;
  compile::UserSource host_code_;
  Kernel kernel_;
  Launch launch_;
  std::unique_ptr<inspect::LaunchArrays> arrays_;
};

/// Opens `specification` for running kernels: "auto" is a GPU if there is one, else the emulated
/// one, and `why` then says so.
std::shared_ptr<Device> open_for_kernels(const std::string& specification, std::string* why);

}  // namespace tilescope::cli

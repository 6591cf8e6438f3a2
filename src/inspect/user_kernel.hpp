// The kernels of a user's source on a device, with their launches.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <tilescope/target.hpp>
#include <vector>

#include "inspect/launch_arrays.hpp"
#include "inspect/subject.hpp"

namespace tilescope::inspect {

class UserKernel : public Subject {
 public:
  struct Step {
    Kernel kernel;
    Launch launch;
    KernelArguments arguments;
    std::vector<std::size_t> constants;  ///< set before the launch: numbers of LaunchArrays
  };

  /// Compiles `source`, finds the kernels, allocates and fills their arrays. Launches of kernels
  /// that one compilation has share its variables. Errors: bad_input with
  /// the compiler's own words for code that does not compile; usage for an unknown or ambiguous
  /// kernel (with a list of the kernels); LaunchError for a grid, a block or arguments that are
  /// missing or do not fit, with a suggestion from the source.
  UserKernel(Device& device, const SourceText& source, const LaunchDescription& description);

  void launch() override;
  void require_launchable() const override;

  const std::vector<Step>& steps() const { return steps_; }
  LaunchArrays& arrays() { return arrays_; }
  /// Milliseconds between two events around the last launches.
  double elapsed_ms() const { return elapsed_ms_; }

 private:
  struct Wanted;
  void add(const SourceText& source, const LaunchDescription& description);
  Kernel open(const SourceText& source, const LaunchDescription& description, Wanted& wanted);
  std::optional<Kernel> find_loaded(const Wanted& wanted) const;
  void note_unset(const SourceText& source, const Step& step);

  Device& device_;
  LaunchArrays arrays_;
  std::vector<Step> steps_;
  std::vector<KernelRequest> loaded_;  ///< for each step
  std::set<std::string> set_;          ///< variables that launches set
  double elapsed_ms_ = 0.0;
};

}  // namespace tilescope::inspect

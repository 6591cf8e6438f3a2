// The arguments of a launch on a device: arrays allocated and filled, values packed, results read
// and saved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <tilescope/npy.hpp>
#include <tilescope/run.hpp>
#include <vector>

namespace tilescope::inspect {

class LaunchArrays {
 public:
  /// Checks the arguments against the kernel's parameters (how many, of how many bytes, numbers or
  /// addresses), opens input files and creates output files, allocates and fills. `names` are the
  /// parameters' names if known; an argument's own name goes first. Errors: usage, naming the
  /// argument and the parameter; bad_input for files.
  LaunchArrays(Device& device, const Kernel& kernel, const LaunchDescription& description,
               const std::vector<std::string>& names);
  ~LaunchArrays();

  const KernelArguments& arguments() const { return arguments_; }

  /// Reads every array back; at most `most_elements` of each are kept. Nothing is saved yet.
  std::vector<RunArray> read_back(std::uint64_t most_elements) const;
  /// Writes the requested files and records them in `arrays`.
  void save(std::vector<RunArray>& arrays);

 private:
  struct Array;
  void add_scalar(const LaunchArgument& argument, std::size_t index,
                  const KernelParameter& parameter);
  void add_array(const LaunchArgument& argument, std::size_t index,
                 const KernelParameter& parameter);
  void fill(const Array& array);
  std::string name_of_argument(const LaunchArgument& argument, std::size_t index) const;

  Device& device_;
  std::string kernel_;
  std::vector<std::string> names_;
  KernelArguments arguments_;
  std::vector<std::unique_ptr<Array>> arrays_;
};

}  // namespace tilescope::inspect

// The arguments of a launch on a device: arrays allocated and filled, values packed, results shown
// and saved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/npy.hpp>
#include <vector>

#include "inspect/launch_description.hpp"

namespace tilescope::inspect {

/// What one array holds after the run.
struct ArraySummary {
  std::string name;
  DataType type = DataType::int32;
  std::uint64_t count = 0;
  std::vector<std::string> first;  ///< the first elements as text
  double least = 0.0, most = 0.0;  ///< of all that are numbers
  std::uint64_t nans = 0;
  std::string saved_to;
};

class LaunchArrays {
 public:
  /// Checks the arguments against the kernel's parameters (how many, of how many bytes, numbers or
  /// addresses), opens files to be read and creates those to be written, allocates and fills.
  /// `names` are the parameters' names where they are known; an argument's own name goes first.
  /// Errors: usage naming the argument and the parameter; bad_input for files.
  LaunchArrays(Device& device, const Kernel& kernel, const LaunchDescription& description,
               const std::vector<std::string>& names);
  ~LaunchArrays();

  const KernelArguments& arguments() const { return arguments_; }

  /// Reads every array back. At most `show` elements of each become text.
  std::vector<ArraySummary> summaries(std::size_t show) const;
  /// Writes the files that were asked for.
  void save();

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

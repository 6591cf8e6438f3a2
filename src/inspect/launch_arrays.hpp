// The arrays of launches on a device: allocated and filled before, read and saved after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <tilescope/npy.hpp>
#include <tilescope/run.hpp>
#include <vector>

#include "inspect/caller_memory.hpp"

namespace tilescope::inspect {

/// The argument in the form that messages quote.
std::string text_of(const LaunchArgument& argument);

class LaunchArrays {
 public:
  explicit LaunchArrays(Device& device);
  ~LaunchArrays();

  /// Opens the array's input file, creates its output file, allocates and fills it. `name` is for
  /// reports. An array with Initial::shared is the one that was added under its own name. Errors:
  /// usage, naming the argument; bad_input for files.
  DeviceAddress add(const LaunchArgument& argument, const std::string& name);
  /// Adds an array that arguments may share by its name, or memory that kernels find by pointers.
  void share(const LaunchArgument& argument);
  /// The caller's memory among the arrays. Arguments that have such are placed before add().
  CallerMemory& memory() { return memory_; }
  /// Places an array's elements into a variable each time that set_constant() is called
  /// with the returned number. Errors: as add(), and usage if it has another size.
  std::size_t add_constant(const LaunchArgument& argument, const ModuleVariable& variable,
                           bool is_read_back);
  void set_constant(std::size_t number);

  /// Reads every array back; at most `most_elements` of each are kept. Nothing is saved yet.
  std::vector<RunArray> read_back(std::uint64_t most_elements) const;
  /// Writes the requested files and records them in `arrays`.
  void save(std::vector<RunArray>& arrays);

 private:
  struct Array;
  std::shared_ptr<Array> open(const LaunchArgument& argument, const std::string& name) const;
  void fill(const Array& array);

  Device& device_;
  CallerMemory memory_;
  std::vector<std::shared_ptr<Array>> arrays_;
  std::vector<std::shared_ptr<Array>> constants_;  // some are in arrays_ too
};

}  // namespace tilescope::inspect

// Runs a kernel, on a GPU or without one, and returns its arrays.
//
//     const tilescope::RunResult result = tilescope::run(
//         tilescope::SourceFile{"scale.cu"},
//         {.grid = tilescope::Dim3{4}, .block = tilescope::Dim3{256},
//          .arguments = {tilescope::LaunchArgument::array(tilescope::DataType::float32, 1000,
//                                                         tilescope::Initial::iota),
//                        tilescope::LaunchArgument::scalar(2.5F),
//                        tilescope::LaunchArgument::scalar(1000)}});
//     const std::vector<float> y = result.arrays[0].values<float>();
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tilescope/inspection.hpp"
#include "tilescope/launch_description.hpp"

namespace tilescope {

/// An array of the launch after the run.
struct RunArray {
  std::string name;  ///< the argument's name, else the parameter's, else "argument N"
  DataType type = DataType::int32;
  std::uint64_t count = 0;                      ///< elements
  std::vector<std::byte> bytes;                 ///< the first InspectOptions::most_elements of them
  std::optional<double> least = {}, most = {};  ///< over all elements that are numbers
  std::uint64_t nans = 0;                       ///< elements that are NaN
  std::string saved_to;                         ///< the .npy file that was written; empty: none

  /// The elements in `bytes`. Throws Error(usage) unless T is their type.
  template <typename T>
  std::vector<T> values() const {
    require_data_type(name, type, data_type_of<T>());
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

/// One launch of a run.
struct KernelRun {
  std::string kernel;
  Launch launch;
};

/// The result of a run.
struct RunResult : Inspection {
  std::string kernel;  ///< the first launch's kernel
  Launch launch;
  std::vector<KernelRun> launches;  ///< all of them, in order; empty for a program
  std::optional<double> time_ms;    ///< between two events around them; nothing if emulated
  std::vector<RunArray> arrays;     ///< in the order of the arguments, shared ones first
  /// The error of the emulated run; empty: none. Then `arrays` have the contents at that
  /// moment, and no file was written.
  std::string failure;
};

/// Launches the kernel once, waits, reads its arrays back and writes the files that arguments name.
/// Text from emulated kernels is in Inspection::printed; a GPU prints to standard output.
///
/// Errors: as check(); usage for a rung (its ladder runs it) and for a launch that the device
/// forbids; no_device as Device::open; and the GPU's report about the launch.
RunResult run(const Target& target, const LaunchDescription& launch,
              const InspectOptions& options = {});

}  // namespace tilescope

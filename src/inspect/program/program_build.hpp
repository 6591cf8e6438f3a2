// The executable of a program: compiled by nvcc, and kept in the cache by content.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device_properties.hpp>
#include <tilescope/program.hpp>

#include "base/cleanup.hpp"

namespace tilescope::inspect {

/// The folder of Tilescope's libcudart.so.13, which programs are linked against and run with.
/// Throws Error(no_device) if this installation lacks it.
std::string run_time_directory();

/// An executable that the cache keeps, or else a temporary one.
class BuiltProgram {
 public:
  /// Compiles for PTX of the GPU's compute capability, unless the cache has the program. Throws
  /// Error(bad_input) with nvcc's own messages, and no_device without nvcc.
  BuiltProgram(const Program& program, const DeviceProperties& gpu);
  ~BuiltProgram();
  BuiltProgram(const BuiltProgram&) = delete;
  BuiltProgram& operator=(const BuiltProgram&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<TemporaryRegistration> temporary_;  ///< null: the cache keeps it
};

}  // namespace tilescope::inspect

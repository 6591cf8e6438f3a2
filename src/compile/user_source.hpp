// Prepares a user's .cu file for the run-time compiler: the part that nvcc compiles for the device.
#pragma once

#include <string>
#include <tilescope/device.hpp>
#include <utility>
#include <vector>

namespace tilescope::compile {

struct UserSource {
  std::vector<std::string> left_out;  ///< names of host functions that were cut out
  /// The cut headers as they are on disk: name in the line table, and text.
  std::vector<std::pair<std::string, std::string>> headers;
};

/// Cuts host code out of `request.source` and of the user's headers that it includes, and adds
/// stand-ins for headers of the host's libraries, to `request.headers`. Line numbers stay. A file
/// of device code alone is left as it is.
UserSource prepare_user_source(KernelRequest& request);

}  // namespace tilescope::compile

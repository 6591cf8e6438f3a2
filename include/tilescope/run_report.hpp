// Options and report of an operation's call.
#pragma once

#include <string>

namespace tilescope {

struct RunReport {
  std::string variant;      ///< the rung of the operation's ladder that ran
  double compute_ms = 0.0;  ///< the operation alone, without copies from and to the host
};

/// How to run an operation.
struct RunOptions {
  std::string variant = {};  ///< a rung of its ladder; empty: the device's best
};

}  // namespace tilescope

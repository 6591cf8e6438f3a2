// The computations of some kernels in plain C++, as one would write them for one core.
#pragma once

#include <functional>
#include <vector>

namespace tilescope::bench {

struct NativeKernel {
  const char* name;
  std::function<void()> run;
};

/// The kernels, of the sizes that emulator_speed gives them.
std::vector<NativeKernel> native_kernels();

}  // namespace tilescope::bench

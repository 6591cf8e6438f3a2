// Host code in .cu files: main(), set-up, <<<...>>> launches. The run-time compiler takes device
// code only, so host code is cut out before. What is cut is what nvcc would compile for the host
// alone: functions without __device__ or __global__, and variables that kernels could not see.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::compile {

struct DeviceCode {
  std::string text;  ///< the source with host code turned into spaces: lines keep their numbers
  std::vector<std::string> left_out;  ///< names of the free functions that were cut, in order
  bool cut_anything = false;
  /// Some function without annotation was kept: constexpr, it may be used in constants.
  bool unannotated = false;
};

/// The names of macros in `text` that stand for __device__ or __global__, added to `macros`.
void find_device_macros(std::string_view text, std::set<std::string>& macros);

/// `device_macros` mark device code besides CUDA's own words. Text whose brackets do not match is
/// returned as it is: the compiler is the one to complain.
DeviceCode without_host_code(std::string_view text, const std::set<std::string>& device_macros);

}  // namespace tilescope::compile

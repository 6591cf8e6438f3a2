// Host code in .cu files: main(), set-up, <<<...>>> launches. The run-time compiler takes device
// code only, so host code is cut out first: everything that nvcc would compile for the host alone,
// which is functions without __device__ or __global__, and variables that kernels cannot see.
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

/// Adds to `macros` the names of macros in `text` that stand for __device__ or __global__.
void find_device_macros(std::string_view text, std::set<std::string>& macros);

/// `device_macros` mark device code, as CUDA's own words do. Text whose brackets do not match is
/// returned unchanged, so that the compiler reports it.
DeviceCode without_host_code(std::string_view text, const std::set<std::string>& device_macros);

}  // namespace tilescope::compile

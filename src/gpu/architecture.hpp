// Facts that follow from a compute capability alone.
#pragma once

#include <string>

namespace tilescope::gpu {

/// The name NVRTC compiles for, such as "sm_90a". From 9.0 on the "a" form is used: it alone
/// offers wgmma and setmaxnreg, and code compiled for the device at hand needs no portability.
std::string architecture_name(int major, int minor);

/// FP32 units per SM, from the "Arithmetic Instructions" throughput table of the CUDA C++
/// Programming Guide (results per clock cycle per SM); 0 for an architecture not in it.
int fp32_lanes_per_sm(int major, int minor);

}  // namespace tilescope::gpu

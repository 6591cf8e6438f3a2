// The functions of CUDA's device runtime that PTX calls by name.
#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/context.hpp"
#include "emulator/program.hpp"

namespace tilescope::emulator {

class DeviceRuntime;

/// One thread's call.
struct DeviceCall {
  Context& w;
  const Code& code;
  const CallCode& call;
  int lane;
  DeviceRuntime& runtime;
};

struct DeviceFunction {
  std::string_view name;  ///< without "cuda" or "__cudaCDP2", and without "_ptsz"
  /// The result as its register receives it.
  std::uint64_t (*run)(const DeviceCall&);
};

/// The function that PTX names, such as "__cudaCDP2LaunchDeviceV2" or "cudaLaunchDeviceV2"; null if
/// there is none.
const DeviceFunction* find_device_function(std::string_view name);

/// Parameter `i` of a call, widened to 64 bits.
std::uint64_t call_argument(Context& w, const CallCode& call, std::size_t i, int lane);

}  // namespace tilescope::emulator

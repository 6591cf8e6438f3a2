// The GPUs that the emulator can stand in for, and that calculations can be made for without one.
#pragma once

#include <span>
#include <string_view>
#include <tilescope/device_properties.hpp>

namespace tilescope::gpu {

/// A GPU by the short name that commands take.
struct Profile {
  std::string_view name;  ///< "h200"
  DeviceProperties properties;
};

/// All profiles, the default one first.
std::span<const Profile> profiles();

/// The properties of the GPU named `name` (letter case does not matter), or null.
const DeviceProperties* find_profile(std::string_view name);

/// The same; throws Error(usage) that lists the names, and suggests the nearest, for any other.
const DeviceProperties& require_profile(std::string_view name);

}  // namespace tilescope::gpu

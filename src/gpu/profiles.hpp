// The GPUs that the emulator can emulate, and for which calculations work without one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tilescope/device_properties.hpp>
#include <tilescope/error.hpp>
#include <vector>

namespace tilescope::gpu {

/// A GPU by the short name that commands take.
struct Profile {
  std::string_view name;  ///< "h200"
  /// Every name under which the driver reports this chip with these clocks and units.
  std::span<const std::string_view> device_names;
  DeviceProperties properties;
};

/// All profiles, the default one first.
std::span<const Profile> profiles();

/// The properties of the GPU named `name` (letter case does not matter), or null.
const DeviceProperties* find_profile(std::string_view name);

/// The same; throws Error(usage) that lists the names, and suggests the nearest, for any other.
const DeviceProperties& require_profile(std::string_view name);

/// The Error(usage) for a `name` that is not among `names`: suggests the nearest, lists them all,
/// and ends with what else could be given.
Error unknown_gpu(std::string_view name, const std::vector<std::string_view>& names,
                  std::string_view or_else = {});

}  // namespace tilescope::gpu

// A device's properties for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/device_properties.hpp>

namespace tilescope::report {

/// The device query: one property a line.
std::string device_text(const std::string& id, const DeviceProperties& device);

/// The same as an object; units are in the names.
nlohmann::json device_json(const std::string& id, const DeviceProperties& device);

}  // namespace tilescope::report

// A device's properties.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <tilescope/device_properties.hpp>

#include "report/json/json_renderer.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

/// All properties as values.
Record device_record(const std::string& id, const DeviceProperties& device);

inline nlohmann::json device_json(const std::string& id, const DeviceProperties& device) {
  return json_of(device_record(id, device));
}

/// The device query: one property a line, under its name.
void add_device(Page& page, const std::string& id, const DeviceProperties& device);

}  // namespace tilescope::report

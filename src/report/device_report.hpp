// A device's properties.
#pragma once

#include <string>
#include <tilescope/device_properties.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// All properties as values.
Record device_record(const std::string& id, const DeviceProperties& device);

/// The device query: one property a line, under its name.
void add_device(Page& page, const std::string& id, const DeviceProperties& device);

}  // namespace tilescope::report

// The device for a target.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device.hpp>

#include "device/emulated/emulated_device.hpp"

namespace tilescope::inspect {

/// The emulated device named by `specification`; "auto" is the default one. Throws Error(usage) for
/// any other device.
std::shared_ptr<device::EmulatedDevice> open_emulated(const std::string& specification);

/// A device that runs kernels: "auto" is a GPU if there is one, else the emulated one.
std::shared_ptr<Device> open_for_kernels(const std::string& specification);

}  // namespace tilescope::inspect

// Devices of calls from Python: opened once and kept.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device.hpp>

#include "interruptible.hpp"

namespace tilescope::python {

/// The device of that specification. An emulated one is new for each call and ends its launches
/// when `cancel` becomes true, so the flag must outlive it; others are kept until the process ends.
std::shared_ptr<Device> device_for(const std::string& specification, const CancelFlag& cancel);

/// The same for a device that is not emulated. The reference lives as long as the process.
const std::shared_ptr<Device>& kept_device(const std::string& specification);

/// GPU number `index`, kept likewise.
const std::shared_ptr<Device>& kept_gpu(int index);

}  // namespace tilescope::python

#include "inspect/open_device.hpp"

#include "base/errors.hpp"

namespace tilescope::inspect {

std::shared_ptr<device::EmulatedDevice> open_emulated(const std::string& specification) {
  if (specification == "auto") return std::make_shared<device::EmulatedDevice>();
  auto opened = std::dynamic_pointer_cast<device::EmulatedDevice>(Device::open(specification));
  if (!opened) {
    throw usage_error(
        "--device {}: only kernels on the emulated device can be inspected; use emulated or "
        "emulated:GPU",
        specification);
  }
  return opened;
}

std::shared_ptr<Device> open_for_kernels(const std::string& specification) {
  if (specification != "auto") return Device::open(specification);
  return Device::open(cuda_devices().empty() ? "emulated" : "cuda");
}

}  // namespace tilescope::inspect

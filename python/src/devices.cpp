#include "devices.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "inspect/open_device.hpp"

namespace tilescope::python {

const std::shared_ptr<Device>& kept_device(const std::string& specification) {
  // Never destroyed: a driver may be gone when the process ends.
  static auto& opened = *new std::map<std::string, std::shared_ptr<Device>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Device>& device = opened[specification];
  if (!device) device = Device::open(specification);
  return device;
}

const std::shared_ptr<Device>& kept_gpu(int index) {
  return kept_device(fmt::format("cuda:{}", index));
}

std::shared_ptr<Device> device_for(const std::string& specification, const CancelFlag& cancel) {
  if (!specification.starts_with("emulated")) return kept_device(specification);
  const std::shared_ptr<device::EmulatedDevice> emulated = inspect::open_emulated(specification);
  emulated->set_options({.cancel = &cancel});
  return emulated;
}

}  // namespace tilescope::python

#include <fmt/format.h>

#include <set>
#include <tilescope/sharded.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

std::vector<std::shared_ptr<Device>> all_gpus() {
  std::string why_none;
  const std::size_t count = cuda_devices(&why_none).size();
  if (count == 0) {
    throw Error(ErrorKind::no_device,
                fmt::format("--devices all: there is no GPU here: {}", why_none));
  }
  std::vector<std::shared_ptr<Device>> devices;
  for (std::size_t i = 0; i < count; ++i)
    devices.push_back(Device::open(fmt::format("cuda:{}", i)));
  return devices;
}

}  // namespace

std::vector<std::shared_ptr<Device>> open_devices(std::string_view list) {
  if (list == "all") return all_gpus();
  std::vector<std::shared_ptr<Device>> devices;
  std::set<std::string> gpus;
  for (const std::string_view name : split(list, ',')) {
    devices.push_back(Device::open(name));
    const Device& device = *devices.back();
    if (device.kind() == DeviceKind::cuda && !gpus.insert(device.id()).second) {
      throw usage_error("--devices {}: {} is named twice", printable(list, 60), device.id());
    }
  }
  return devices;
}

}  // namespace tilescope
